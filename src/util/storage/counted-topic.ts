import { randomBytes } from 'node:crypto'
import type { SharedStore } from './shared-store.ts'

/** Interval between checks for missed messages. */
const CHECK_INTERVAL_MS = 10_000
/** Maximum time from counting a message to its delivery. */
const TOPIC_TIMEOUT_MS = 500
/** If the counter expires without messages, all subscribers see a gap. */
const COUNTER_EXPIRY_MS = 7 * 86_400_000
/** Maximum messages received ahead of their predecessor. */
const MAX_AHEAD = 1000

/** Reason for a gap: `first` start, `lost` messages, or numbers `forgotten` by the store. */
export type TopicGap = 'first' | 'lost' | 'forgotten'

/** Topic settings and callbacks. */
export interface TopicOptions {
  readonly store: SharedStore
  readonly clock: { after(ms: number, callback: () => void): () => void }
  readonly topic: string
  /** Called for each message from other processes. */
  onMessage(text: string): void
  /** Called if messages may be lost. Called again at the next check if it rejects. */
  onGap(gap: TopicGap): void | Promise<void>
}

interface TopicMessage {
  readonly from: string
  readonly number: number
  readonly text: string
}

/**
 * Messages between processes with a shared store. Each message is sealed, published and counted: subscribers detect
 * lost ones by number, after reconnecting to the store or at a check every ten seconds.
 */
export class CountedTopic {
  readonly #options: TopicOptions
  readonly #me = randomBytes(8).toString('hex')
  readonly #ahead = new Set<number>()
  /** Last number without a gap; undefined before the first check. */
  #number: number | undefined
  #cancellations: (() => void)[] = []
  #isLooking = false
  #isOver = false
  /** True if the store was unavailable at the first check. */
  #wasDeaf = false

  constructor(options: TopicOptions) {
    this.#options = options
  }

  start(): void {
    const { store, topic } = this.#options
    const end = store.subscribe(
      topic,
      sealed => this.#receive(sealed),
      () => void this.#checkForGap(),
    )
    this.#cancellations = [end]
    this.#scheduleCheck()
    void this.#checkForGap()
  }

  stop(): void {
    this.#isOver = true
    for (const cancel of this.#cancellations) cancel()
  }

  /** Publishes a message. Rejects if delivery is uncertain. */
  async publish(text: string): Promise<void> {
    const { store, topic } = this.#options
    const number = await this.#countMessage(1)
    this.#markReceived(number)
    const piece: TopicMessage = { from: this.#me, number, text }
    await store.publish(topic, store.seal(JSON.stringify(piece), topic))
  }

  #receive(sealed: string): void {
    const { store, topic } = this.#options
    const piece = parseTopicMessage(store.open(sealed, topic))
    if (piece === undefined) return
    this.#markReceived(piece.number)
    if (piece.from !== this.#me) this.#options.onMessage(piece.text)
  }

  #markReceived(number: number): void {
    if (this.#number === undefined || number <= this.#number) return
    if (this.#ahead.size < MAX_AHEAD) this.#ahead.add(number)
    while (this.#ahead.delete(this.#number + 1)) this.#number++
    if (this.#ahead.size > 0) void this.#checkForGap()
  }

  /** Compares the numbers, and again after messages in transit have arrived. */
  async #checkForGap(): Promise<void> {
    if (this.#isLooking || this.#isOver) return
    this.#isLooking = true
    try {
      const before = this.#number
      const now = await this.#countMessage(0)
      if (before === undefined) await this.#reportGap(now, this.#wasDeaf ? 'lost' : 'first')
      else if (now < before) await this.#reportGap(now, 'forgotten')
      else if (now > this.#receivedUpTo) {
        await this.#waitForDelivery()
        if (now > this.#receivedUpTo) await this.#reportGap(now, 'lost')
      }
    } catch {
      // The next check retries.
      if (this.#number === undefined) this.#wasDeaf = true
    } finally {
      this.#isLooking = false
    }
  }

  get #receivedUpTo(): number {
    return this.#number ?? 0
  }

  async #reportGap(now: number, gap: TopicGap): Promise<void> {
    await this.#options.onGap(gap)
    this.#number = now
    for (const number of this.#ahead) if (number <= now) this.#ahead.delete(number)
    while (this.#ahead.delete(this.#number + 1)) this.#number++
  }

  #waitForDelivery(): Promise<void> {
    return new Promise(resolve => void this.#options.clock.after(TOPIC_TIMEOUT_MS, resolve))
  }

  async #countMessage(by: number): Promise<number> {
    const { store, topic } = this.#options
    return (await store.addToCounter(`${topic} `, { delta: by, expiresInMs: COUNTER_EXPIRY_MS })).total
  }

  #scheduleCheck(): void {
    const take = this.#options.clock.after(CHECK_INTERVAL_MS, () => {
      this.#scheduleCheck()
      void this.#checkForGap()
    })
    this.#cancellations = [...this.#cancellations.slice(0, 1), take]
  }
}

/** Parses a sealed message. */
function parseTopicMessage(text: string | undefined): TopicMessage | undefined {
  if (text === undefined) return undefined
  const { from, number, text: content } = JSON.parse(text) as Partial<TopicMessage>
  const isWhole = typeof from === 'string' && typeof number === 'number' && typeof content === 'string'
  return isWhole ? { from, number, text: content } : undefined
}
