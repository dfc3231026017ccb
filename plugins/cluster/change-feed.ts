import type { Clock, TopicGap, Notification, SharedStore } from '../../src/plugin.ts'
import { BoundedMap, CountedTopic, isObject, LIST_CHANGES } from '../../src/plugin.ts'

const UPDATED = 'notifications/resources/updated'
/** Notifications of servers that replicas tell each other. */
const NEWS: readonly string[] = [...LIST_CHANGES, UPDATED]

const TOPIC = 'news'
/** Time in which the same news is told once. */
const ONCE_MS = 250
/** Time that one's own server has to say the same. */
const OWN_MS = 300
/** Time for which what one's own server said counts as said. */
const SAID_MS = 2000
/** Counters outlive what nobody changes for a while: then all look once more. */
const KEPT_MS = 7 * 86_400_000
const MAX_COUNT = 10_000

/** The servers of the generation that runs, and how to have the gateway hear what they said. */
export interface ChangeHandler {
  readonly names: readonly string[]
  says(upstream: string, notification: Notification): void
}

/**
 * Tells other replicas what servers say of their lists and resources, and hears it of them. Each piece is counted, too: who missed
 * one finds out by the numbers, and looks at all lists. A list that is the same as before is told to nobody.
 */
export class ChangeFeed {
  /** Pieces that came from others and were new. */
  receivedCount = 0
  readonly #store: SharedStore
  readonly #clock: Clock
  /** Time of what this replica's own servers said last. */
  readonly #own = new BoundedMap<string, number>({ max: MAX_COUNT })
  readonly #later = new Map<string, () => void>()
  /** Marks what is passed on, as it must not be told again. */
  readonly #ofOthers = new WeakSet<Notification>()
  readonly #topic: CountedTopic
  /** Numbers of each server's news as they are known. */
  readonly #totals = new Map<string, number>()
  #handler: ChangeHandler = { names: [], says: () => undefined }

  constructor(store: SharedStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.#topic = new CountedTopic({
      ...{ store, clock, topic: TOPIC },
      heard: text => this.#receive(text),
      missed: how => this.#compareTotals(how),
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

  /** A server of this replica has said something: the others are told, once in a while. */
  publish(upstream: string, said: Notification): void {
    if (this.#ofOthers.has(said)) return
    const { method } = said
    const uri = method === UPDATED ? String(said.params?.uri) : ''
    const key = formatKey(upstream, method, uri)
    this.#own.set(key, this.#clock.now())
    this.#debounce(
      `tell ${key}`,
      ONCE_MS,
      () => void this.#publishChange(upstream, method, uri).catch(() => undefined),
    )
  }

  async #publishChange(upstream: string, method: string, uri: string): Promise<void> {
    const own = await this.#count(upstream, 1)
    this.#totals.set(upstream, own)
    await this.#topic.tell(JSON.stringify({ upstream, method, uri, own }))
  }

  #receive(text: string): void {
    const said = parseChange(text)
    if (said === undefined) return
    const { upstream, method, uri, own } = said
    this.#totals.set(upstream, own)
    const key = formatKey(upstream, method, uri)
    this.#debounce(`pass ${key}`, OWN_MS, () => {
      if (this.#clock.now() - (this.#own.get(key) ?? -Infinity) > SAID_MS)
        this.#deliver(upstream, method, uri)
    })
  }

  #deliver(upstream: string, method: string, uri: string): void {
    if (!this.#handler.names.includes(upstream)) return
    this.receivedCount++
    const notification: Notification = { method, params: method === UPDATED ? { uri } : undefined }
    this.#ofOthers.add(notification)
    this.#handler.says(upstream, notification)
  }

  /** Says of every server whose number is another one that its lists may be, too; at the first look nothing is news. */
  async #compareTotals(how: TopicGap): Promise<void> {
    const { names } = this.#handler
    const known = names.map(name => this.#totals.get(name) ?? 0)
    const now = await Promise.all(names.map(name => this.#count(name, 0)))
    names.forEach((name, index) => this.#totals.set(name, now[index] ?? 0))
    if (how === 'first') return
    const changed = names.filter((_, index) => how === 'forgotten' || now[index] !== known[index])
    for (const name of changed) for (const method of LIST_CHANGES) this.#deliver(name, method, '')
  }

  async #count(upstream: string, by: number): Promise<number> {
    const { total } = await this.#store.count(`${TOPIC} ${upstream}`, { by, ms: KEPT_MS })
    return total
  }

  /** Runs after a while, however often it is asked for until then. */
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
  /** Number of that server's news. */
  readonly own: number
}

function parseChange(text: string): ListChange | undefined {
  const said: unknown = JSON.parse(text)
  if (!isObject(said)) return undefined
  const { upstream, method, uri, own } = said
  const isNews = typeof method === 'string' && NEWS.includes(method)
  return isNews && typeof upstream === 'string' && typeof uri === 'string' && typeof own === 'number'
    ? { upstream, method, uri, own }
    : undefined
}

function formatKey(upstream: string, method: string, uri: string): string {
  return `${upstream}\n${method}\n${uri}`
}
