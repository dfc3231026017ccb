import { randomUUID } from 'node:crypto'
import type { Clock, Log } from '../../../src/plugin.ts'
import { BoundedMap, getErrorMessage } from '../../../src/plugin.ts'
import type { Access, Grants, StoredGrant, TokenEndpoint, Vault } from '../types.ts'
import type { RenewalOutcome } from './refresher.ts'
import { Refresher } from './refresher.ts'

/** Maximum cached grants. */
const MAX_REMEMBERED = 1000
/** Renew a token this long before it expires, or in the last quarter of a shorter life. */
const AHEAD_MS = 60_000
const QUARTER = 4
/** After a server rejects a fresh token, no other one is requested for this time. */
const REFUSED_MS = 60_000

interface GrantsDeps {
  readonly vault: Vault
  readonly endpoint: TokenEndpoint
  readonly clock: Clock
  readonly log: Log
  /** Milliseconds since 1970. */
  readonly now?: () => number
  /** This process's name in leases. */
  readonly owner?: string
  /** Called if a login's status may have changed. */
  onChange?(account: string, resource: string): void
}

type LoginStatus =
  | { readonly kind: 'granted'; readonly grant: StoredGrant }
  | { readonly kind: 'needs_auth'; readonly why: string }
  | { readonly kind: 'unusable'; readonly why: string }

/** Reason for a missing login. */
export const NOT_LOGGED_IN = 'not logged in'

/** Tokens from the vault. Each is refreshed once for all callers and processes. */
export class RefreshedGrants implements Grants {
  readonly #options: GrantsDeps
  readonly #refresher: Refresher
  readonly #now: () => number
  readonly #remembered = new BoundedMap<string, StoredGrant>({ max: MAX_REMEMBERED })
  /** Rejection times by generation, from the clock. */
  readonly #refused = new BoundedMap<number, number>({ max: MAX_REMEMBERED })
  /** Generations created because the previous one was rejected. */
  readonly #forced = new BoundedMap<number, number>({ max: MAX_REMEMBERED })
  #version: number | undefined

  constructor(options: GrantsDeps) {
    const { owner = randomUUID(), now = Date.now } = options
    this.#options = options
    this.#now = now
    const onWritten = ({ account, resource }: StoredGrant): void => this.forgetGrant(account, resource)
    this.#refresher = new Refresher({ ...options, owner, now, onWritten })
  }

  async access(account: string, resource: string): Promise<Access> {
    return this.#catchErrors(account, resource, async () => {
      const grant = await this.#findGrant(account, resource)
      if (grant === undefined) return { kind: 'login', why: await this.#findMissingReason(account, resource) }
      if (this.#isRefused(grant)) return { kind: 'login', why: 'the server rejected the token' }
      if (!this.#isDue(grant)) return toTokenAccess(grant)
      if (grant.refresh !== undefined) return this.#toAccess(await this.#refresher.renew(grant), grant)
      if (this.#isAlive(grant)) return toTokenAccess(grant)
      return { kind: 'login', why: 'the login has expired and cannot be renewed' }
    })
  }

  async renewRefused(account: string, resource: string, generation: number): Promise<Access> {
    return this.#catchErrors(account, resource, async () => {
      this.#remembered.delete(createGrantKey(account, resource))
      const grant = await this.#findGrant(account, resource)
      if (grant === undefined) return { kind: 'login', why: await this.#findMissingReason(account, resource) }
      if (grant.generation !== generation) return this.access(account, resource)
      if (grant.refresh === undefined || this.#isForced(grant) || this.#isRefused(grant)) {
        this.#refused.set(generation, this.#options.clock.now())
        return { kind: 'login', why: 'the server rejected the token' }
      }
      const renewed = await this.#refresher.renew(grant)
      if (renewed.kind === 'granted') this.#forced.set(renewed.grant.generation, this.#options.clock.now())
      return this.#toAccess(renewed, { ...grant, expiresAt: 0 })
    })
  }

  /** Returns the status from the vault, without requests. */
  async getStatus(account: string, resource: string): Promise<LoginStatus> {
    try {
      const grant = await this.#findGrant(account, resource)
      if (grant === undefined) return { kind: 'needs_auth', why: await this.#findMissingReason(account, resource) }
      if (this.#isRefused(grant)) return { kind: 'needs_auth', why: 'the server rejected the token' }
      if (grant.refresh === undefined && !this.#isAlive(grant))
        return { kind: 'needs_auth', why: 'the login has expired and cannot be renewed' }
      return { kind: 'granted', grant }
    } catch (error) {
      return { kind: 'unusable', why: getErrorMessage(error) }
    }
  }

  /** Drops the cached grant after a login or logout in this process. */
  forgetGrant(account: string, resource: string): void {
    this.#remembered.delete(createGrantKey(account, resource))
    this.#options.onChange?.(account, resource)
  }

  /** Resolves when no refresh is running. */
  waitUntilIdle(): Promise<void> {
    return this.#refresher.waitUntilIdle()
  }

  /** Converts vault errors to an unavailable token. */
  async #catchErrors(account: string, resource: string, work: () => Promise<Access>): Promise<Access> {
    try {
      const access = await work()
      if (access.kind !== 'token') this.#options.onChange?.(account, resource)
      return access
    } catch (error) {
      return { kind: 'unavailable', why: getErrorMessage(error) }
    }
  }

  /** Finds a grant, reading it again if another process has written. */
  async #findGrant(account: string, resource: string): Promise<StoredGrant | undefined> {
    const { vault } = this.#options
    const version = await vault.version()
    if (version !== this.#version) this.#remembered.clear()
    this.#version = version
    const key = createGrantKey(account, resource)
    const cached = this.#remembered.get(key)
    if (cached !== undefined) return cached
    const grant = this.#refresher.preferUnwritten(await vault.find(account, resource))
    if (grant !== undefined) this.#remembered.set(key, grant)
    return grant
  }

  #toAccess(renewed: RenewalOutcome, before: StoredGrant): Access {
    this.#remembered.delete(createGrantKey(before.account, before.resource))
    if (renewed.kind === 'granted') return toTokenAccess(renewed.grant)
    if (renewed.kind === 'lost') return { kind: 'login', why: renewed.why }
    if (this.#isAlive(before)) return toTokenAccess(before)
    return { kind: renewed.kind === 'refused' ? 'login' : 'unavailable', why: renewed.why }
  }

  async #findMissingReason(account: string, resource: string): Promise<string> {
    const lost = await this.#options.vault.listLost({ account, resource })
    const latest = lost
      .filter(one => one.account === account && one.resource === resource)
      .sort((a, b) => b.at - a.at)[0]
    return latest?.why ?? NOT_LOGGED_IN
  }

  #isRefused({ generation }: StoredGrant): boolean {
    const at = this.#refused.get(generation)
    return at !== undefined && this.#options.clock.now() - at < REFUSED_MS
  }

  #isForced({ generation }: StoredGrant): boolean {
    const at = this.#forced.get(generation)
    return at !== undefined && this.#options.clock.now() - at < REFUSED_MS
  }

  #isDue({ expiresAt, at }: StoredGrant): boolean {
    // An expiry before the write time is meaningless.
    if (expiresAt === undefined || expiresAt <= at) return false
    return this.#now() >= expiresAt - Math.min(AHEAD_MS, (expiresAt - at) / QUARTER)
  }

  #isAlive({ expiresAt, at }: StoredGrant): boolean {
    return expiresAt === undefined || (expiresAt > 0 && expiresAt <= at) || this.#now() < expiresAt
  }
}

function toTokenAccess({ access, generation }: StoredGrant): Access {
  return { kind: 'token', token: access, generation }
}

function createGrantKey(account: string, resource: string): string {
  return JSON.stringify([account, resource])
}
