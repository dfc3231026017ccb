import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import type { Clock } from '../../src/plugin.ts'
import { isObject } from '../../src/plugin.ts'
import type { Address } from './address.ts'
import { parseAddress } from './address.ts'
import type { KeyRing } from './key-ring.ts'
import { LEAVE, RENEW } from './redis/scripts.ts'
import type { RedisStore } from './redis/redis-store.ts'

const LEASE_MS = 5000
const RENEW_MS = 1500
/** An entry may be missing for so long: a Redis that comes back empty gets it again. */
const GRACE_MS = 5000

/** One replica, as it describes itself. */
export interface Entry {
  readonly id: string
  /** Address at which the replica takes requests of others, as `host:port`. */
  readonly address: string
  /** In milliseconds since 1970. */
  readonly started: number
  readonly version: string
  /** Digest of its configuration. */
  readonly config: string
}

/** A replica that is known to live, or did a moment ago. */
export interface LiveReplica {
  readonly entry: Entry
  readonly address: Address
  /** Aborts when the replica is gone. */
  readonly gone: AbortSignal
}

interface Slot extends LiveReplica {
  readonly end: AbortController
  missingSince: number | undefined
}

interface DirectoryDeps {
  readonly store: Pick<RedisStore, 'run'>
  readonly ring: KeyRing
  readonly clock: Clock
  /** Name of the gateway. */
  readonly name: string
}

/** The replicas that live, by id, and the lease of this one. */
export class Directory {
  /** Id of this process, for its life. */
  readonly id = `r${randomBytes(8).toString('hex')}`
  /** Entries that no replica of ours has written. */
  forged = 0
  readonly #deps: DirectoryDeps
  readonly #key: string
  readonly #known = new Map<string, Slot>()
  #self: Entry | undefined
  #exchanging: Promise<void> | undefined
  #forget: () => void = () => undefined
  #hasLeft = false

  constructor(deps: DirectoryDeps) {
    this.#deps = deps
    this.#key = `tg:{${deps.name}}:replicas`
  }

  /** All replicas that live, this one among them. */
  get entries(): readonly Entry[] {
    return [...this.#known.values()].flatMap(({ entry, missingSince }) =>
      missingSince === undefined ? [entry] : [],
    )
  }

  /** The replica, if it is known without asking Redis. */
  known(id: string): LiveReplica | undefined {
    return this.#known.get(id)
  }

  /** Rejects if nothing is known of the replica, and Redis cannot be asked. */
  async find(id: string): Promise<LiveReplica | undefined> {
    if (!this.#known.has(id)) await this.#exchange()
    return this.#known.get(id)
  }

  /** Enters the directory and stays in it; retries while Redis is away. */
  async start(self: Omit<Entry, 'id'>): Promise<void> {
    this.describe(self)
    await this.look()
    this.#renewLater()
  }

  /** Describes this replica differently from the next renewal on. */
  describe(self: Partial<Entry>): void {
    this.#self = { ...this.#self, ...self, id: this.id } as Entry
  }

  /** Renews the lease and reads who lives. While Redis is away, the known replicas stay. */
  async look(): Promise<readonly Entry[]> {
    await this.#exchange().catch(() => undefined)
    return this.entries
  }

  async leave(): Promise<void> {
    this.#hasLeft = true
    this.#forget()
    await this.#exchanging?.catch(() => undefined)
    await this.#deps.store.run(LEAVE, [this.#key], [this.id]).catch(() => 0)
  }

  #renewLater(): void {
    if (this.#hasLeft) return
    this.#forget = this.#deps.clock.after(RENEW_MS, () => void this.look().then(() => this.#renewLater()))
  }

  #exchange(): Promise<void> {
    this.#exchanging ??= this.#askRedis().finally(() => (this.#exchanging = undefined))
    return this.#exchanging
  }

  async #askRedis(): Promise<void> {
    const { store, ring } = this.#deps
    const self = this.#hasLeft || this.#self === undefined ? '' : ring.sign('directory', this.#self)
    const reply = await store.run(RENEW, [this.#key], [this.id, self, String(LEASE_MS)])
    const missing = new Set(this.#known.keys())
    const fields = Array.isArray(reply) ? reply.map(String) : []
    for (let at = 0; at + 1 < fields.length; at += 2)
      missing.delete(this.#read(String(fields[at]), String(fields[at + 1])))
    for (const id of missing) this.#miss(id)
  }

  #read(id: string, signed: string): string {
    const entry = parseEntry(this.#deps.ring.read('directory', signed))
    const address = parseAddress(entry?.address ?? '')
    if (entry === undefined || address === undefined || entry.id !== id) {
      this.forged++
      return ''
    }
    this.#note(entry, address)
    return id
  }

  #note(entry: Entry, address: Address): void {
    const before = this.#known.get(entry.id)
    const end = before?.end ?? new AbortController()
    // Each request that waits for the replica listens.
    if (before === undefined) setMaxListeners(0, end.signal)
    this.#known.set(entry.id, { entry, address, end, gone: end.signal, missingSince: undefined })
  }

  #miss(id: string): void {
    const slot = this.#known.get(id)
    if (slot === undefined) return
    const now = this.#deps.clock.now()
    slot.missingSince ??= now
    if (now - slot.missingSince < GRACE_MS) return
    this.#known.delete(id)
    slot.end.abort()
  }
}

function parseEntry(value: unknown): Entry | undefined {
  if (!isObject(value)) return undefined
  const { id, address, started, version, config } = value
  const isWhole =
    typeof id === 'string' &&
    typeof address === 'string' &&
    typeof started === 'number' &&
    typeof version === 'string' &&
    typeof config === 'string'
  return isWhole ? { id, address, started, version, config } : undefined
}
