import { randomBytes } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import type { Clock } from '../../src/plugin.ts'
import type { Address } from './host-port.ts'
import { parseAddress } from './host-port.ts'
import type { KeyRing } from './key-ring.ts'
import { RENEW } from './redis/scripts.ts'
import type { RedisStore } from './redis/redis-store.ts'

const LEASE_MS = 5000
const RENEW_MS = 1500
/** Grace period for missing entries: a Redis that restarts empty receives them again. */
const GRACE_MS = 5000

/** A replica's self-description. */
export interface ReplicaEntry {
  readonly id: string
  /** Address for forwarded requests, as `host:port`. */
  readonly address: string
  /** Start time in milliseconds since 1970. */
  readonly started: number
  readonly version: string
  /** Configuration digest. */
  readonly config: string
}

/** A replica that is alive or was until recently. */
export interface LiveReplica {
  readonly entry: ReplicaEntry
  readonly address: Address
  /** Aborted when the replica is gone. */
  readonly deathSignal: AbortSignal
}

interface Slot extends LiveReplica {
  readonly end: AbortController
  missingSince: number | undefined
}

interface ReplicaDirectoryDeps {
  readonly store: Pick<RedisStore, 'runScript' | 'send'>
  readonly ring: KeyRing
  readonly clock: Clock
  /** Gateway name. */
  readonly name: string
}

/** Live replicas by id, and this replica's lease. */
export class ReplicaDirectory {
  /** Random id for this process. */
  readonly id = `r${randomBytes(8).toString('hex')}`
  /** Entries that this gateway did not write. */
  forged = 0
  readonly #deps: ReplicaDirectoryDeps
  readonly #key: string
  readonly #slots = new Map<string, Slot>()
  #self: ReplicaEntry | undefined
  #exchanging: Promise<void> | undefined
  #forget: () => void = () => undefined
  #hasLeft = false

  constructor(deps: ReplicaDirectoryDeps) {
    this.#deps = deps
    this.#key = `tg:{${deps.name}}:replicas`
  }

  /** All live replicas, including this one. */
  get entries(): readonly ReplicaEntry[] {
    return [...this.#slots.values()].flatMap(({ entry, missingSince }) => (missingSince === undefined ? [entry] : []))
  }

  /** Returns a known replica without asking Redis. */
  getKnown(id: string): LiveReplica | undefined {
    return this.#slots.get(id)
  }

  /** Rejects if the replica is unknown and Redis is unavailable. */
  async find(id: string): Promise<LiveReplica | undefined> {
    if (!this.#slots.has(id)) await this.#exchange()
    return this.#slots.get(id)
  }

  /** Joins the directory and renews the lease; retries while Redis is unavailable. */
  async start(self: Omit<ReplicaEntry, 'id'>): Promise<void> {
    this.updateSelf(self)
    await this.refresh()
    this.#renewLater()
  }

  /** Updates this replica's entry at the next renewal. */
  updateSelf(self: Partial<ReplicaEntry>): void {
    this.#self = { ...this.#self, ...self, id: this.id } as ReplicaEntry
  }

  /** Renews the lease and reads the directory. While Redis is unavailable, known replicas remain. */
  async refresh(): Promise<readonly ReplicaEntry[]> {
    await this.#exchange().catch(() => undefined)
    return this.entries
  }

  async leave(): Promise<void> {
    this.#hasLeft = true
    this.#forget()
    await this.#exchanging?.catch(() => undefined)
    await this.#deps.store.send(['HDEL', this.#key, this.id]).catch(() => 0)
  }

  #renewLater(): void {
    if (this.#hasLeft) return
    this.#forget = this.#deps.clock.after(RENEW_MS, () => void this.refresh().then(() => this.#renewLater()))
  }

  #exchange(): Promise<void> {
    this.#exchanging ??= this.#askRedis().finally(() => (this.#exchanging = undefined))
    return this.#exchanging
  }

  async #askRedis(): Promise<void> {
    const { store, ring } = this.#deps
    const self = this.#hasLeft || this.#self === undefined ? '' : ring.seal('directory', this.#self, this.id)
    const reply = await store.runScript(RENEW, [this.#key], [this.id, self, String(LEASE_MS)])
    const missing = new Set(this.#slots.keys())
    const fields = Array.isArray(reply) ? reply.map(String) : []
    for (let at = 0; at + 1 < fields.length; at += 2)
      missing.delete(this.#readEntry(String(fields[at]), String(fields[at + 1])))
    for (const id of missing) this.#noteMissing(id)
  }

  #readEntry(id: string, sealed: string): string {
    const entry = this.#deps.ring.open('directory', sealed, id) as ReplicaEntry | undefined
    const address = parseAddress(entry?.address ?? '')
    if (entry === undefined || address === undefined) {
      this.forged++
      return ''
    }
    this.#noteReplica(entry, address)
    return id
  }

  #noteReplica(entry: ReplicaEntry, address: Address): void {
    const before = this.#slots.get(entry.id)
    const end = before?.end ?? new AbortController()
    // Every forwarded request adds a listener.
    if (before === undefined) setMaxListeners(0, end.signal)
    this.#slots.set(entry.id, { entry, address, end, deathSignal: end.signal, missingSince: undefined })
  }

  #noteMissing(id: string): void {
    const slot = this.#slots.get(id)
    if (slot === undefined) return
    const now = this.#deps.clock.now()
    slot.missingSince ??= now
    if (now - slot.missingSince < GRACE_MS) return
    this.#slots.delete(id)
    slot.end.abort()
  }
}
