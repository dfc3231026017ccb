import { randomBytes } from 'node:crypto'
import type { Log } from '../../src/plugin.ts'
import type { Entry, Shared } from './directory.ts'
import { LEASE, LEAVE } from './store/scripts.ts'

const LEASE_MS = 5000
const RENEW_MS = 1500
/** Time in milliseconds for which others know that it has not died: longer than any grace. */
const LEFT_MS = 600_000
/** A lease that is older may have run out before a request is answered. */
const FRESH_MS = LEASE_MS - 1000

/** Consequences for the sessions of a replica. */
export interface LeaseEvents {
  /** The lease had run out: others may have taken sessions meanwhile. Resolves with whether some did. */
  lapsed(): Promise<boolean>
  /** It goes on under another id, as something of the old one belongs to others. */
  renamed(old: string): Promise<void>
  renewed(): void
}

type About = Omit<Entry, 'id'>

/** This process among the replicas: an id of its own, and a lease on it that it renews while it lives. */
export class Replica {
  /** Times that it had to take another id. */
  fenced = 0
  readonly #shared: Shared
  readonly #log: Log
  readonly #events: LeaseEvents
  readonly #former = new Set<string>()
  #about: About | undefined
  #id = newId()
  #value = ''
  #before = ''
  /** False for a value that the store cannot know yet. */
  #isSaid = false
  #renewedAt = -Infinity
  #wasHeld = false
  #renewing: Promise<void> | undefined
  #forget: () => void = () => undefined
  #hasLeft = false
  #leaving: Promise<void> | undefined

  constructor(shared: Shared, log: Log, events: LeaseEvents) {
    this.#shared = shared
    this.#log = log
    this.#events = events
  }

  get id(): string {
    return this.#id
  }

  /** True for its id, and for those that it had. */
  is(id: string): boolean {
    return id === this.#id || this.#former.has(id)
  }

  /** True while nobody can have taken its sessions. */
  get isFresh(): boolean {
    return this.#shared.clock.now() - this.#renewedAt < FRESH_MS
  }

  /** Enters the directory, and stays there; tries again as long as the store is away. */
  async start(about: About): Promise<void> {
    this.#about = about
    this.#say()
    await this.renew()
    this.#tick()
  }

  /** Says something else of itself from the next renewal on. */
  describe(about: Partial<About>): void {
    if (this.#about === undefined) return
    this.#about = { ...this.#about, ...about }
    this.#say()
  }

  /** Renews the lease. Never rejects: while the store is away nobody can take anything. */
  renew(): Promise<void> {
    this.#renewing ??= this.#renew()
      .catch(() => undefined)
      .finally(() => (this.#renewing = undefined))
    return this.#renewing
  }

  /** True once others are to take its sessions. */
  get isLeaving(): boolean {
    return this.#leaving !== undefined
  }

  /** Has others take its sessions at once. It stays in the directory, as what is under way here is answered here. */
  announceLeave(): Promise<void> {
    this.#leaving ??= this.#announce()
    return this.#leaving
  }

  async #announce(): Promise<void> {
    await this.#renewing
    if (this.#about === undefined) return
    this.describe({ isLeaving: true })
    await this.renew()
  }

  /** Leaves the directory, so that others take its sessions at once. */
  async leave(): Promise<void> {
    if (this.#hasLeft) return
    this.#hasLeft = true
    this.#forget()
    await this.#renewing
    const { store, keys } = this.#shared
    const names = [keys.replica(this.#id), keys.roster, keys.left(this.#id)]
    await store.run(LEAVE, names, [this.#value, this.#id, String(LEFT_MS)]).catch(() => 0)
  }

  #say(): void {
    if (this.#isSaid) this.#before = this.#value
    this.#isSaid = false
    this.#value = this.#shared.ring.sign('directory', { id: this.#id, ...this.#about })
  }

  #tick(): void {
    if (this.#hasLeft) return
    this.#forget = this.#shared.clock.after(RENEW_MS, () => void this.renew().then(() => this.#tick()))
  }

  async #renew(): Promise<void> {
    if (this.#hasLeft) return
    const at = this.#shared.clock.now()
    const said = await this.#lease()
    if (said !== 0 && said !== 1 && said !== 2) throw new Error('Redis did not say whose the lease is')
    if (said === 0) return this.#rename('somebody else has its entry in the directory', at)
    const hasLapsed = said === 1 && this.#wasHeld
    this.#wasHeld = true
    if (hasLapsed && (await this.#events.lapsed()))
      return this.#rename('its lease ran out, and others took sessions', at)
    this.#renewedAt = at
    this.#events.renewed()
  }

  #lease(): Promise<unknown> {
    const { store, keys } = this.#shared
    const args = [this.#before, this.#value, String(LEASE_MS), this.#id]
    this.#isSaid = true
    return store.run(LEASE, [keys.replica(this.#id), keys.roster], args)
  }

  async #rename(why: string, at: number): Promise<void> {
    const { store, keys } = this.#shared
    const old = this.#id
    const oldValue = this.#value
    this.fenced++
    this.#former.add(old)
    this.#id = newId()
    this.#say()
    this.#log.warn('goes on as another replica', { why, was: old, is: this.#id })
    await this.#lease()
    await store.run(LEAVE, [keys.replica(old), keys.roster], [oldValue, old])
    await this.#events.renamed(old)
    this.#renewedAt = at
    this.#events.renewed()
  }
}

function newId(): string {
  return `r${randomBytes(8).toString('hex')}`
}
