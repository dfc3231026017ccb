import { randomUUID } from 'node:crypto'
import type { Clock, Log } from '../../../src/plugin.ts'
import { BoundedMap, getErrorMessage, toOneLine } from '../../../src/plugin.ts'
import type { Access, LoginKey, NewGrant, RefreshResult, StoredGrant, TokenEndpoint } from '../types.ts'
import type { Vault } from './vault.ts'

/** Longer than any refresh, so that a crashed process blocks others only this long. */
const LEASE_MS = 45_000
/** How long other processes wait for the lease holder, and their poll interval. */
const WAIT_MS = 5000
const POLL_MS = 50
/** Backoff after an unreachable authorization server. */
const FIRST_PAUSE_MS = 1000
const MAX_PAUSE_MS = 60_000
/** Maximum text length from an authorization server. */
const MAX_WORDS = 200
/** Maximum generations with a pause or a rejection. */
const MAX_REMEMBERED = 1000
/** Renew a token this long before it expires, or in a shorter life's last quarter. */
const AHEAD_MS = 60_000
const QUARTER = 4
/** After a server rejects a fresh token, no other one is requested for this time. */
const REJECTED_MS = 60_000

/** Renewal result; after a temporary failure the old token is used while it lives. */
type Renewal = Access & { readonly isTemporary?: boolean }

interface Pause {
  readonly until: number
  readonly ms: number
  readonly result: Renewal
}

interface GrantsDeps {
  readonly vault: Vault
  readonly endpoint: TokenEndpoint
  readonly clock: Clock
  readonly log: Log
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

/** Reason for a missing login. */
export const NOT_LOGGED_IN = 'not logged in'

/** Tokens from the vault. Each is refreshed once for all callers and processes, independent of waiting calls. */
export class RefreshedGrants {
  readonly #deps: GrantsDeps
  /** This process's name in leases. */
  readonly #owner = randomUUID()
  readonly #flights = new Map<string, Promise<Renewal>>()
  /** Grants in backoff, by generation: a new login must not inherit it. */
  readonly #pauses = new BoundedMap<number, Pause>({ max: MAX_REMEMBERED })
  /** Clock times of generations that replaced a rejected one. */
  readonly #forced = new BoundedMap<number, number>({ max: MAX_REMEMBERED })
  readonly #now: () => number

  constructor(deps: GrantsDeps) {
    this.#deps = deps
    this.#now = deps.now ?? Date.now
  }

  /** Returns a valid token, refreshed before it expires. */
  access(key: LoginKey): Promise<Access> {
    return toUnavailable(async () => {
      const grant = await this.#deps.vault.find(key)
      if (grant === undefined || grant.lost !== undefined) return createLoginNeeded(grant?.lost ?? NOT_LOGGED_IN)
      if (grant.refresh !== undefined && this.#isDue(grant)) return this.#renew(grant, this.#isAlive(grant))
      return this.#isAlive(grant)
        ? toTokenAccess(grant)
        : createLoginNeeded('the login has expired and cannot be renewed')
    })
  }

  /** Renews a token that was rejected with 401, once for all callers with that generation. */
  renewRefused(key: LoginKey, generation: number): Promise<Access> {
    return toUnavailable(async () => {
      const { vault, clock } = this.#deps
      const grant = await vault.findCurrent(key)
      if (grant?.generation !== generation) return this.access(key)
      const forcedAt = this.#forced.get(generation) ?? -Infinity
      if (grant.refresh === undefined || clock.now() - forcedAt < REJECTED_MS)
        return createLoginNeeded('the server rejected the token')
      const access = await this.#renew(grant, false)
      if (access.kind === 'token') this.#forced.set(access.generation, clock.now())
      return access
    })
  }

  /** Resolves when no refresh is running. */
  async waitUntilIdle(): Promise<void> {
    await Promise.allSettled(this.#flights.values())
  }

  /** Refreshes a grant; concurrent calls share the result. */
  async #renew(grant: StoredGrant, isUsable: boolean): Promise<Access> {
    const key = JSON.stringify([grant.account, grant.resource])
    let flight = this.#flights.get(key)
    if (flight === undefined) {
      flight = this.#renewWithLease(grant).finally(() => this.#flights.delete(key))
      this.#flights.set(key, flight)
    }
    const renewal = await flight
    return renewal.isTemporary === true && isUsable ? toTokenAccess(grant) : renewal
  }

  async #renewWithLease(grant: StoredGrant): Promise<Renewal> {
    const { vault, clock, endpoint } = this.#deps
    const pause = this.#pauses.get(grant.generation)
    if (pause !== undefined && clock.now() < pause.until) return pause.result
    try {
      const result = await this.#acquireLease(grant)
      if (result !== undefined) return result
      try {
        // Another process may have renewed it before.
        return (await this.#findOtherResult(grant)) ?? (await this.#storeResult(grant, await endpoint.refresh(grant)))
      } finally {
        await vault.release(grant, this.#owner).catch(() => undefined)
      }
    } catch (error) {
      return createUnavailable(getErrorMessage(error))
    }
  }

  /** Takes the lease; if another process has it, waits for its result. */
  async #acquireLease(grant: StoredGrant): Promise<Renewal | undefined> {
    const { vault, clock } = this.#deps
    const end = clock.now() + WAIT_MS
    while (!(await vault.lease(grant, this.#owner, LEASE_MS))) {
      const result = await this.#findOtherResult(grant)
      if (result !== undefined) return result
      if (clock.now() >= end) return createUnavailable('timed out waiting for another process to renew the login')
      await new Promise<void>(resolve => void clock.after(POLL_MS, resolve))
    }
    return undefined
  }

  /** Returns another process's result: a new generation, or a removed grant. */
  async #findOtherResult(grant: StoredGrant): Promise<Renewal | undefined> {
    const current = await this.#deps.vault.findCurrent(grant)
    if (current === undefined) return createLoginNeeded('logged out')
    if (current.lost !== undefined) return createLoginNeeded(current.lost)
    return current.generation === grant.generation ? undefined : toTokenAccess(current)
  }

  async #storeResult(grant: StoredGrant, refreshed: RefreshResult): Promise<Renewal> {
    if (refreshed.kind === 'granted') return this.#storeGrant(grant, refreshed.grant)
    if (refreshed.kind === 'unreachable') {
      const why = `the authorization server is unreachable: ${toOneLine(refreshed.reason).slice(0, MAX_WORDS)}`
      return this.#startPause(grant, createUnavailable(why))
    }
    const why = `the authorization server refused to renew the login: ${refreshed.error}`
    const result = createLoginNeeded(why)
    if (refreshed.error !== 'invalid_grant')
      return this.#startPause(grant, { ...result, isTemporary: true }, MAX_PAUSE_MS)
    const isRemoved = await this.#deps.vault.remove(grant, grant.generation, why)
    return (isRemoved ? undefined : await this.#findOtherResult(grant)) ?? result
  }

  /** Stores the grant before it is used. A concurrent login wins. */
  async #storeGrant(before: StoredGrant, grant: NewGrant): Promise<Renewal> {
    const { vault, log } = this.#deps
    const { caller, refresh, audience } = before
    const retained = { ...(caller && { caller }), ...(refresh && { refresh }), ...(audience && { audience }) }
    const renewed = { ...retained, ...grant }
    try {
      const generation = await vault.put(before, renewed, before.generation)
      if (generation !== undefined) return toTokenAccess({ ...renewed, generation })
      return (await this.#findOtherResult(before)) ?? createLoginNeeded('logged out')
    } catch (error) {
      const { resource } = before
      log.error('a renewed login could not be written; kept in memory', { resource, why: getErrorMessage(error) })
      vault.keepUnwritten({ ...before, ...renewed, generation: before.generation, at: this.#now() })
      return toTokenAccess({ ...renewed, generation: before.generation })
    }
  }

  #startPause({ generation }: StoredGrant, result: Renewal, minPauseMs = 0): Renewal {
    const before = this.#pauses.get(generation)?.ms ?? FIRST_PAUSE_MS / 2
    const ms = Math.min(Math.max(before * 2, minPauseMs), MAX_PAUSE_MS)
    this.#pauses.set(generation, { until: this.#deps.clock.now() + ms, ms, result })
    return result
  }

  #isDue({ expiresAt, at }: StoredGrant): boolean {
    // An expiry before the write time is meaningless.
    if (expiresAt === undefined || expiresAt <= at) return false
    return this.#now() >= expiresAt - Math.min(AHEAD_MS, (expiresAt - at) / QUARTER)
  }

  #isAlive({ expiresAt, at }: StoredGrant): boolean {
    return expiresAt === undefined || expiresAt <= at || this.#now() < expiresAt
  }
}

/** Converts vault errors to an unavailable token. */
async function toUnavailable(work: () => Promise<Access>): Promise<Access> {
  try {
    return await work()
  } catch (error) {
    return { kind: 'unavailable', why: getErrorMessage(error) }
  }
}

function toTokenAccess({ access, generation }: Pick<StoredGrant, 'access' | 'generation'>): Access {
  return { kind: 'token', token: access, generation }
}

function createLoginNeeded(why: string): Renewal {
  return { kind: 'login', why }
}

function createUnavailable(why: string): Renewal {
  return { kind: 'unavailable', why, isTemporary: true }
}
