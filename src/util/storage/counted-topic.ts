import { randomBytes } from 'node:crypto'
import type { SharedStore } from './shared-store.ts'

/** Pause between two looks whether something was missed. */
const LOOK_MS = 10_000
/** Time that a piece may take from its number to those that hear it. */
const TOPIC_TIMEOUT_MS = 500
/** A number outlives what nobody says for a while: then all have missed something. */
const KEPT_MS = 7 * 86_400_000
/** Pieces that came before one that they follow. */
const MAX_AHEAD = 1000

/** Ways to miss something: `first` there was nothing before; `lost` what others said; `forgotten` the store has lost its numbers. */
export type TopicGap = 'first' | 'lost' | 'forgotten'

/** Means and hearer of a topic. */
export interface TopicOptions {
  readonly store: SharedStore
  readonly clock: { after(ms: number, callback: () => void): () => void }
  readonly topic: string
  /** Hears what others say. */
  heard(text: string): void
  /** Called when it may not have heard all. What rejects is asked again at the next look. */
  missed(how: TopicGap): void | Promise<void>
}

interface Piece {
  readonly from: string
  readonly number: number
  readonly text: string
}

/**
 * News among processes that share a store. Each piece is sealed, published, and counted: who missed one finds out by the number, after a
 * new connection to the store or at a look every ten seconds.
 */
export class CountedTopic {
  readonly #options: TopicOptions
  readonly #me = randomBytes(8).toString('hex')
  readonly #ahead = new Set<number>()
  /** Number up to which all is known; undefined before the first look. */
  #number: number | undefined
  #ends: (() => void)[] = []
  #isLooking = false
  #isOver = false
  /** The store was not there at the first look. */
  #wasDeaf = false

  constructor(options: TopicOptions) {
    this.#options = options
  }

  start(): void {
    const { store, topic } = this.#options
    const end = store.subscribe(
      topic,
      sealed => this.#hear(sealed),
      () => void this.#look(),
    )
    this.#ends = [end]
    this.#lookLater()
    void this.#look()
  }

  stop(): void {
    this.#isOver = true
    for (const end of this.#ends) end()
  }

  /** Tells all others. Rejects where it is not known whether they hear of it. */
  async tell(text: string): Promise<void> {
    const { store, topic } = this.#options
    const number = await this.#count(1)
    this.#note(number)
    const piece: Piece = { from: this.#me, number, text }
    await store.publish(topic, store.seal(JSON.stringify(piece), topic))
  }

  #hear(sealed: string): void {
    const { store, topic } = this.#options
    const piece = parsePiece(store.open(sealed, topic))
    if (piece === undefined) return
    this.#note(piece.number)
    if (piece.from !== this.#me) this.#options.heard(piece.text)
  }

  #note(number: number): void {
    if (this.#number === undefined || number <= this.#number) return
    if (this.#ahead.size < MAX_AHEAD) this.#ahead.add(number)
    while (this.#ahead.delete(this.#number + 1)) this.#number++
    if (this.#ahead.size > 0) void this.#look()
  }

  /** Compares the numbers, and once more when what is on its way has come. */
  async #look(): Promise<void> {
    if (this.#isLooking || this.#isOver) return
    this.#isLooking = true
    try {
      const before = this.#number
      const now = await this.#count(0)
      if (before === undefined) await this.#caughtUp(now, this.#wasDeaf ? 'lost' : 'first')
      else if (now < before) await this.#caughtUp(now, 'forgotten')
      else if (now > this.#known) {
        await this.#rest()
        if (now > this.#known) await this.#caughtUp(now, 'lost')
      }
    } catch {
      // The next look comes.
      if (this.#number === undefined) this.#wasDeaf = true
    } finally {
      this.#isLooking = false
    }
  }

  get #known(): number {
    return this.#number ?? 0
  }

  async #caughtUp(now: number, how: TopicGap): Promise<void> {
    await this.#options.missed(how)
    this.#number = now
    for (const number of this.#ahead) if (number <= now) this.#ahead.delete(number)
    while (this.#ahead.delete(this.#number + 1)) this.#number++
  }

  #rest(): Promise<void> {
    return new Promise(resolve => void this.#options.clock.after(TOPIC_TIMEOUT_MS, resolve))
  }

  async #count(by: number): Promise<number> {
    const { store, topic } = this.#options
    return (await store.count(`${topic} `, { by, ms: KEPT_MS })).total
  }

  #lookLater(): void {
    const take = this.#options.clock.after(LOOK_MS, () => {
      this.#lookLater()
      void this.#look()
    })
    this.#ends = [...this.#ends.slice(0, 1), take]
  }
}

/** A piece as processes of the gateway seal it. */
function parsePiece(text: string | undefined): Piece | undefined {
  if (text === undefined) return undefined
  const { from, number, text: said } = JSON.parse(text) as Partial<Piece>
  const isWhole = typeof from === 'string' && typeof number === 'number' && typeof said === 'string'
  return isWhole ? { from, number, text: said } : undefined
}
