import { BoundedMap, isObject, type Clock } from '../../src/plugin.ts'
import { hostAndPort, type Reach } from './address.ts'
import type { KeyRing } from './key-ring.ts'
import type { StoreKeys } from './keys.ts'
import { ROSTER } from './store/scripts.ts'
import type { Store } from './store/store.ts'

/** Time in milliseconds for which an entry is not looked up again. */
const FRESH_MS = 1000
/** The same while the store is away, or the replica is away from it. */
const STALE_MS = 30_000
const MOST = 1000

/** One replica, as it says of itself. */
export interface Entry {
  readonly id: string
  /** Address at which the replica takes requests that are handed on, as `host:port`. */
  readonly address: string
  /** In milliseconds since 1970. */
  readonly started: number
  readonly version: string
  /** Another one for another configuration. */
  readonly config: string
  /** True if it will stop, so that others are to take its sessions; it still answers what it is asked. */
  readonly isLeaving?: boolean
}

/** Result of a look-up. `lease` is what stands in the store, were it even forged. */
export interface Found {
  readonly entry: Entry | undefined
  readonly lease: string
  /** The parts of its address. */
  readonly reach: Reach | undefined
}

interface Known extends Found {
  readonly at: number
}

export interface Shared {
  readonly store: Store
  readonly ring: KeyRing
  readonly keys: StoreKeys
  readonly clock: Clock
}

/** The replicas that live, by id. */
export class Directory {
  /** Entries that no replica of ours has written. */
  forged = 0
  readonly #shared: Shared
  readonly #known = new BoundedMap<string, Known>({ max: MOST })
  /** The last entry of each that lived. */
  readonly #seen = new BoundedMap<string, Known>({ max: MOST })
  readonly #asked = new Map<string, Promise<Known>>()

  constructor(shared: Shared) {
    this.#shared = shared
  }

  /** Looks a replica up. Rejects while the store is away and nothing is known of it of late. */
  async find(id: string): Promise<Found> {
    const fresh = this.known(id)
    if (fresh !== undefined) return fresh
    const known = this.#known.get(id)
    const now = this.#shared.clock.now()
    try {
      return await this.#ask(id)
    } catch (error) {
      if (known?.entry !== undefined && now - known.at < STALE_MS) return known
      throw error
    }
  }

  /** The same without a wait, where it was looked up a moment ago. */
  known(id: string): Found | undefined {
    const known = this.#known.get(id)
    return known !== undefined && this.#shared.clock.now() - known.at < FRESH_MS ? known : undefined
  }

  /** The entry of one that was there of late: though its lease has run out it may live, and not reach the store. */
  seen(id: string): Found | undefined {
    const seen = this.#seen.get(id)
    return seen !== undefined && this.#shared.clock.now() - seen.at < STALE_MS ? seen : undefined
  }

  /** True for one that has neither a lease nor given it back: what it had begun is answered by nobody. */
  async isDead(id: string): Promise<boolean> {
    if ((await this.find(id)).entry !== undefined) return false
    const { store, keys } = this.#shared
    return (await store.get(keys.left(id))) === undefined
  }

  /** Drops the remembered entry of a replica, as it may be wrong. */
  forget(id: string): void {
    this.#known.delete(id)
    this.#seen.delete(id)
  }

  async list(): Promise<readonly Entry[]> {
    const { store, keys } = this.#shared
    const ids = await store.run(ROSTER, [keys.roster], [])
    const found = await Promise.all((Array.isArray(ids) ? ids : []).map(id => this.find(String(id))))
    return found.flatMap(({ entry }) => (entry === undefined ? [] : [entry]))
  }

  #ask(id: string): Promise<Known> {
    const asked = this.#asked.get(id)
    if (asked !== undefined) return asked
    const asking = this.#read(id).finally(() => this.#asked.delete(id))
    this.#asked.set(id, asking)
    return asking
  }

  async #read(id: string): Promise<Known> {
    const { store, ring, keys, clock } = this.#shared
    const lease = (await store.get(keys.replica(id))) ?? ''
    const entry = entryOf(ring.read('directory', lease))
    const isItsOwn = entry?.id === id
    if (lease !== '' && !isItsOwn) this.forged++
    const reach = isItsOwn ? hostAndPort(entry.address) : undefined
    const known = { lease, entry: isItsOwn ? entry : undefined, reach, at: clock.now() }
    this.#known.set(id, known)
    if (known.entry !== undefined) this.#seen.set(id, known)
    return known
  }
}

function entryOf(value: unknown): Entry | undefined {
  if (!isObject(value)) return undefined
  const { id, address, started, version, config } = value
  const isWhole =
    typeof id === 'string' &&
    typeof address === 'string' &&
    typeof started === 'number' &&
    typeof version === 'string' &&
    typeof config === 'string'
  const leaving = value.isLeaving === true ? { isLeaving: true } : {}
  return isWhole ? { id, address, started, version, config, ...leaving } : undefined
}
