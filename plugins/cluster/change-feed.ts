import type { Clock, TopicGap, Notification, SharedStore } from '../../src/plugin.ts'
import { BoundedMap, CountedTopic, isObject, LIST_CHANGES } from '../../src/plugin.ts'

const UPDATED = 'notifications/resources/updated'
/** Notifications that replicas exchange. */
const NEWS: readonly string[] = [...LIST_CHANGES, UPDATED]

const TOPIC = 'news'
/** Debounce time for identical notifications. */
const ONCE_MS = 250
/** Time for a local server to send the same notification itself. */
const OWN_MS = 300
/** Time during which a local notification suppresses a remote duplicate. */
const SAID_MS = 2000
/** Counter lifetime in Redis; after it expires, all replicas refresh. */
const KEPT_MS = 7 * 86_400_000
const MAX_COUNT = 10_000

/** Upstreams in the current generation, and the function that delivers their notifications. */
export interface ChangeHandler {
  readonly names: readonly string[]
  notify(upstream: string, notification: Notification): void
}

/**
 * Exchanges list and resource changes with other replicas. Changes are counted per upstream, so that a replica that
 * missed one detects it and refreshes all lists. Unchanged lists are not announced.
 */
export class ChangeFeed {
  /** New changes received from other replicas. */
  receivedCount = 0
  readonly #store: SharedStore
  readonly #clock: Clock
  /** Time when local servers last sent each notification. */
  readonly #own = new BoundedMap<string, number>({ max: MAX_COUNT })
  readonly #later = new Map<string, () => void>()
  /** Notifications received from replicas, which must not be forwarded again. */
  readonly #ofOthers = new WeakSet<Notification>()
  readonly #topic: CountedTopic
  /** Last known counters per upstream. */
  readonly #totals = new Map<string, number>()
  #handler: ChangeHandler = { names: [], notify: () => undefined }

  constructor(store: SharedStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.#topic = new CountedTopic({
      ...{ store, clock, topic: TOPIC },
      onMessage: text => this.#receive(text),
      onGap: gap => this.#compareTotals(gap),
    })
  }

  setHandler(hearer: ChangeHandler): void {
    this.#handler = hearer
  }

  start(): void {
    this.#topic.start()
  }

  stop(): void {
    this.#topic.stop()
    for (const end of this.#later.values()) end()
    this.#later.clear()
  }

  /** Publishes a local server's notification, debounced. */
  publish(upstream: string, notification: Notification): void {
    if (this.#ofOthers.has(notification)) return
    const { method } = notification
    const uri = method === UPDATED ? String(notification.params?.uri) : ''
    const key = formatKey(upstream, method, uri)
    this.#own.set(key, this.#clock.now())
    this.#debounce(`tell ${key}`, ONCE_MS, () => void this.#publishChange(upstream, method, uri).catch(() => undefined))
  }

  async #publishChange(upstream: string, method: string, uri: string): Promise<void> {
    const own = await this.#countChange(upstream, 1)
    this.#totals.set(upstream, own)
    await this.#topic.publish(JSON.stringify({ upstream, method, uri, own }))
  }

  #receive(text: string): void {
    const message = parseChange(text)
    if (message === undefined) return
    const { upstream, method, uri, own } = message
    this.#totals.set(upstream, own)
    const key = formatKey(upstream, method, uri)
    this.#debounce(`pass ${key}`, OWN_MS, () => {
      if (this.#clock.now() - (this.#own.get(key) ?? -Infinity) > SAID_MS) this.#deliver(upstream, method, uri)
    })
  }

  #deliver(upstream: string, method: string, uri: string): void {
    if (!this.#handler.names.includes(upstream)) return
    this.receivedCount++
    const notification: Notification = { method, params: method === UPDATED ? { uri } : undefined }
    this.#ofOthers.add(notification)
    this.#handler.notify(upstream, notification)
  }

  /** Reports changes for upstreams whose counter differs; the first comparison only records the counters. */
  async #compareTotals(gap: TopicGap): Promise<void> {
    const { names } = this.#handler
    const previousTotals = names.map(name => this.#totals.get(name) ?? 0)
    const now = await Promise.all(names.map(name => this.#countChange(name, 0)))
    names.forEach((name, index) => this.#totals.set(name, now[index] ?? 0))
    if (gap === 'first') return
    const changed = names.filter((_, index) => gap === 'forgotten' || now[index] !== previousTotals[index])
    for (const name of changed) for (const method of LIST_CHANGES) this.#deliver(name, method, '')
  }

  async #countChange(upstream: string, by: number): Promise<number> {
    const { total } = await this.#store.addToCounter(`${TOPIC} ${upstream}`, {
      delta: by,
      expiresInMs: KEPT_MS,
    })
    return total
  }

  /** Runs once after a delay, regardless of further calls. */
  #debounce(key: string, ms: number, run: () => void): void {
    if (this.#later.has(key) || this.#later.size >= MAX_COUNT) return
    const take = this.#clock.after(ms, () => {
      this.#later.delete(key)
      run()
    })
    this.#later.set(key, take)
  }
}

interface ListChange {
  readonly upstream: string
  readonly method: string
  readonly uri: string
  /** The upstream's change counter. */
  readonly own: number
}

function parseChange(text: string): ListChange | undefined {
  const message: unknown = JSON.parse(text)
  if (!isObject(message)) return undefined
  const { upstream, method, uri, own } = message
  const isNews = typeof method === 'string' && NEWS.includes(method)
  return isNews && typeof upstream === 'string' && typeof uri === 'string' && typeof own === 'number'
    ? { upstream, method, uri, own }
    : undefined
}

function formatKey(upstream: string, method: string, uri: string): string {
  return `${upstream}\n${method}\n${uri}`
}
