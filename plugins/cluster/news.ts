import {
  BoundedMap,
  type Clock,
  isObject,
  LISTS,
  type Notification,
  type SharedStore,
} from '../../src/plugin.ts'

const UPDATED = 'notifications/resources/updated'
/** Changes of lists; each is told by its method. */
const LIST_NEWS: readonly string[] = [...new Set(Object.values(LISTS).map(list => list.changed))]
/** Notifications of servers that replicas tell each other. */
const NEWS: readonly string[] = [...LIST_NEWS, UPDATED]

const TOPIC = 'news'
/** Pause between two looks whether something was missed. */
const LOOK_MS = 10_000
/** Time in which the same news is told once. */
const ONCE_MS = 250
/** Time that one's own server has to say the same. */
const OWN_MS = 300
/** Time for which what one's own server said counts as said. */
const SAID_MS = 2000
/** Counters outlive what nobody changes for a while: then all look once more. */
const KEPT_MS = 7 * 86_400_000
const MOST = 10_000

/** The servers of the generation that runs, and how to have the gateway hear what they said. */
export interface Hearer {
  readonly names: readonly string[]
  says(upstream: string, notification: Notification): void
}

/**
 * Tells other replicas what servers say of their lists and resources, and hears it of them. Each piece is counted, too: who missed
 * one finds out by the numbers, and looks at all lists. A list that is the same as before is told to nobody.
 */
export class News {
  /** Pieces that came from others and were new. */
  heardOfOthers = 0
  readonly #store: SharedStore
  readonly #clock: Clock
  /** Time of what this replica's own servers said last. */
  readonly #own = new BoundedMap<string, number>({ max: MOST })
  readonly #later = new Map<string, () => void>()
  /** Marks what is passed on, as it must not be told again. */
  readonly #ofOthers = new WeakSet<Notification>()
  /** Numbers as they are known: of all news, and of each server's. */
  #total: number | undefined
  readonly #totals = new Map<string, number>()
  #hearer: Hearer = { names: [], says: () => undefined }
  #ends: (() => void)[] = []
  #isLooking = false

  constructor(store: SharedStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  become(hearer: Hearer): void {
    this.#hearer = hearer
  }

  start(): void {
    this.#ends = [
      this.#store.subscribe(
        TOPIC,
        text => this.#hear(text),
        () => void this.#look(),
      ),
    ]
    this.#lookLater()
  }

  stop(): void {
    for (const end of [...this.#ends, ...this.#later.values()]) end()
    this.#ends = []
    this.#later.clear()
  }

  /** A server of this replica has said something: the others are told, once in a while. */
  heard(upstream: string, said: Notification): void {
    if (this.#ofOthers.has(said)) return
    const { method } = said
    const uri = method === UPDATED ? String(said.params?.uri) : ''
    const key = keyOf(upstream, method, uri)
    this.#own.set(key, this.#clock.now())
    this.#once(`tell ${key}`, ONCE_MS, () => void this.#tell(upstream, method, uri).catch(() => undefined))
  }

  async #tell(upstream: string, method: string, uri: string): Promise<void> {
    const own = await this.#count(upstream, 1)
    const total = await this.#count('', 1)
    const text = JSON.stringify({ upstream, method, uri, own, total })
    await this.#store.publish(TOPIC, this.#store.seal(text, TOPIC))
  }

  #hear(sealed: string): void {
    const said = this.#read(sealed)
    if (said === undefined) return
    const { upstream, method, uri, own, total } = said
    this.#totals.set(upstream, own)
    // One that is further on says that one before it was missed: the next look finds out of whom.
    if (this.#total === undefined || total === this.#total + 1) this.#total = total
    else if (total > this.#total) void this.#look()
    const key = keyOf(upstream, method, uri)
    this.#once(`pass ${key}`, OWN_MS, () => {
      if (this.#clock.now() - (this.#own.get(key) ?? -Infinity) > SAID_MS) this.#pass(upstream, method, uri)
    })
  }

  #pass(upstream: string, method: string, uri: string): void {
    if (!this.#hearer.names.includes(upstream)) return
    this.heardOfOthers++
    const notification: Notification = { method, params: method === UPDATED ? { uri } : undefined }
    this.#ofOthers.add(notification)
    this.#hearer.says(upstream, notification)
  }

  /** Compares the numbers, and says of every server whose number is another one that its lists may be, too. */
  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    try {
      const total = await this.#count('', 0)
      if (total === this.#total) return
      for (const name of await this.#changedSince(total))
        for (const method of LIST_NEWS) this.#pass(name, method, '')
      this.#total = total
    } catch {
      // The next look comes.
    } finally {
      this.#isLooking = false
    }
  }

  /** Servers with news since the last look; at the first one nothing is news. */
  async #changedSince(total: number): Promise<string[]> {
    const { names } = this.#hearer
    const isFirst = this.#total === undefined
    // A store that has forgotten is one whose numbers say nothing.
    const hasForgotten = total < (this.#total ?? 0)
    const known = names.map(name => this.#totals.get(name) ?? 0)
    const now = await Promise.all(names.map(name => this.#count(name, 0)))
    names.forEach((name, index) => this.#totals.set(name, now[index] ?? 0))
    return isFirst ? [] : names.filter((_, index) => hasForgotten || now[index] !== known[index])
  }

  async #count(upstream: string, by: number): Promise<number> {
    const { total } = await this.#store.count(`${TOPIC} ${upstream}`, { by, ms: KEPT_MS })
    return total
  }

  #read(
    sealed: string,
  ): { upstream: string; method: string; uri: string; own: number; total: number } | undefined {
    const text = this.#store.open(sealed, TOPIC)
    const said: unknown = text === undefined ? undefined : JSON.parse(text)
    if (!isObject(said)) return undefined
    const { upstream, method, uri, own, total } = said
    const isWhole =
      typeof upstream === 'string' &&
      typeof method === 'string' &&
      NEWS.includes(method) &&
      typeof uri === 'string' &&
      typeof own === 'number' &&
      typeof total === 'number'
    return isWhole ? { upstream, method, uri, own, total } : undefined
  }

  /** Runs after a while, however often it is asked for until then. */
  #once(key: string, ms: number, run: () => void): void {
    if (this.#later.has(key) || this.#later.size >= MOST) return
    const take = this.#clock.after(ms, () => {
      this.#later.delete(key)
      run()
    })
    this.#later.set(key, take)
  }

  #lookLater(): void {
    const take = this.#clock.after(LOOK_MS, () => {
      this.#later.delete('look')
      this.#lookLater()
      void this.#look()
    })
    this.#later.set('look', take)
  }
}

function keyOf(upstream: string, method: string, uri: string): string {
  return `${upstream}\n${method}\n${uri}`
}
