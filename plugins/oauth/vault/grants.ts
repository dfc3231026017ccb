import { randomUUID } from 'node:crypto'
import type { Clock, Log } from '../../../src/plugin.ts'
import { BoundedMap, getErrorMessage, toOneLine } from '../../../src/plugin.ts'
import type { Access, LoginKey, NewGrant, RefreshResult, StoredGrant, TokenEndpoint } from '../types.ts'
import type { Vault } from './vault.ts'

/** Refresh request timeout. */
const REQUEST_MS = 30_000
/** Longer than any request, so that a crashed process blocks others only this long. */
const LEASE_MS = REQUEST_MS + 15_000
/** How long other processes wait for the lease holder, and their poll interval. */
const WAIT_MS = 5000
const POLL_MS = 50
/** Backoff after an unreachable authorization server. */
const FIRST_PAUSE_MS = 1000
const MAX_PAUSE_MS = 60_000
const MAX_PAUSED = 1000
/** Maximum text length from an authorization server. */
const MAX_WORDS = 200

/** Refresh result. */
type RenewalOutcome =
  | { readonly kind: 'granted'; readonly grant: StoredGrant }
  /** The grant was removed. */
  | { readonly kind: 'lost'; readonly why: string }
  /** The authorization server refuses, but the grant may still be valid. */
  | { readonly kind: 'refused'; readonly why: string }
  | { readonly kind: 'unavailable'; readonly why: string }

interface Pause {
  readonly until: number
  readonly ms: number
  readonly outcome: RenewalOutcome
}

function createLost(why: string): RenewalOutcome {
  return { kind: 'lost', why }
}

/** Formats the error in one line; its description is untrusted text. */
function formatRefusal({ error, description }: Extract<RefreshResult, { kind: 'refused' }>): string {
  const details = description === undefined ? '' : ` (${toOneLine(description).slice(0, MAX_WORDS)})`
  return `the authorization server refused to renew the login: ${toOneLine(error).slice(0, MAX_WORDS)}${details}`
}

function createRefreshKey({ account, resource }: LoginKey): string {
  return JSON.stringify([account, resource])
}

/** A new login must not inherit the old one's backoff. */
function createPauseKey(grant: StoredGrant): string {
  return `${grant.generation} ${createRefreshKey(grant)}`
}

/** Maximum generations with a rejection. */
const MAX_REJECTED = 1000
/** Renew a token this long before it expires, or in a shorter life's last quarter. */
const AHEAD_MS = 60_000
const QUARTER = 4
/** After a server rejects a fresh token, no other one is requested for this time. */
const REJECTED_MS = 60_000

interface GrantsDeps {
  readonly vault: Vault
  readonly endpoint: TokenEndpoint
  readonly clock: Clock
  readonly log: Log
  /** Milliseconds since 1970. */
  readonly now?: () => number
}

type LoginStatus =
  | { readonly kind: 'granted'; readonly grant: StoredGrant }
  | { readonly kind: 'needs_auth'; readonly why: string }
  | { readonly kind: 'unusable'; readonly why: string }

/** Reason for a missing login. */
export const NOT_LOGGED_IN = 'not logged in'
const REJECTED = 'the server rejected the token'
const EXPIRED = 'the login has expired and cannot be renewed'

/** Tokens from the vault. Each is refreshed once for all callers and processes, independent of waiting calls. */
export class RefreshedGrants {
  readonly #options: GrantsDeps
  /** This process's name in leases. */
  readonly #owner = randomUUID()
  readonly #flights = new Map<string, Promise<RenewalOutcome>>()
  /** Grants in backoff. */
  readonly #pauses = new BoundedMap<string, Pause>({ max: MAX_PAUSED })
  readonly #now: () => number
  /** Clock times by generation: `refused` generations were rejected, `forced` ones replaced a rejected one. */
  readonly #refused = new BoundedMap<number, number>({ max: MAX_REJECTED })
  readonly #forced = new BoundedMap<number, number>({ max: MAX_REJECTED })

  constructor(options: GrantsDeps) {
    this.#options = options
    this.#now = options.now ?? Date.now
  }

  /** Returns a valid token, refreshed before it expires. */
  async access(key: LoginKey): Promise<Access> {
    return toUnavailable(async () => {
      const grant = await this.#options.vault.find(key)
      if (grant === undefined) return { kind: 'login', why: await this.#findMissingReason(key) }
      if (this.#isRecent(this.#refused, grant)) return { kind: 'login', why: REJECTED }
      if (!this.#isDue(grant)) return toTokenAccess(grant)
      if (grant.refresh !== undefined) return this.#toAccess(await this.#renew(grant), grant)
      return this.#isAlive(grant) ? toTokenAccess(grant) : { kind: 'login', why: EXPIRED }
    })
  }

  /** Renews a token that was rejected with 401, once for all callers with that generation. */
  async renewRefused(key: LoginKey, generation: number): Promise<Access> {
    return toUnavailable(async () => {
      const { vault, clock } = this.#options
      const grant = await vault.findCurrent(key)
      if (grant === undefined) return { kind: 'login', why: await this.#findMissingReason(key) }
      if (grant.generation !== generation) return this.access(key)
      const isUseless = this.#isRecent(this.#forced, grant) || this.#isRecent(this.#refused, grant)
      if (grant.refresh === undefined || isUseless) {
        this.#refused.set(generation, clock.now())
        return { kind: 'login', why: REJECTED }
      }
      const renewed = await this.#renew(grant)
      if (renewed.kind === 'granted') this.#forced.set(renewed.grant.generation, clock.now())
      return this.#toAccess(renewed, { ...grant, expiresAt: 0 })
    })
  }

  /** Returns the status from the vault, without requests. */
  async getStatus(key: LoginKey): Promise<LoginStatus> {
    try {
      const grant = await this.#options.vault.find(key)
      if (grant === undefined) return { kind: 'needs_auth', why: await this.#findMissingReason(key) }
      if (this.#isRecent(this.#refused, grant)) return { kind: 'needs_auth', why: REJECTED }
      if (grant.refresh === undefined && !this.#isAlive(grant)) return { kind: 'needs_auth', why: EXPIRED }
      return { kind: 'granted', grant }
    } catch (error) {
      return { kind: 'unusable', why: getErrorMessage(error) }
    }
  }

  /** Resolves when no refresh is running. */
  async waitUntilIdle(): Promise<void> {
    await Promise.allSettled(this.#flights.values())
  }

  /** Refreshes a grant; concurrent calls share the result. */
  #renew(grant: StoredGrant): Promise<RenewalOutcome> {
    const key = createRefreshKey(grant)
    let flight = this.#flights.get(key)
    if (flight === undefined) {
      flight = this.#renewWithLease(grant).finally(() => this.#flights.delete(key))
      this.#flights.set(key, flight)
    }
    return flight
  }

  async #renewWithLease(grant: StoredGrant): Promise<RenewalOutcome> {
    try {
      const paused = this.#getPauseOutcome(grant)
      if (paused !== undefined) return paused
      const result = await this.#acquireLease(grant)
      if (result !== undefined) return result
      try {
        // Another process may have renewed it before.
        return (await this.#findOtherResult(grant)) ?? (await this.#toOutcome(grant, await this.#requestRefresh(grant)))
      } finally {
        await this.#options.vault.release(grant, this.#owner).catch(() => undefined)
      }
    } catch (error) {
      return { kind: 'unavailable', why: getErrorMessage(error) }
    }
  }

  /** Takes the lease; if another process has it, waits for its result. */
  async #acquireLease(grant: StoredGrant): Promise<RenewalOutcome | undefined> {
    const { vault, clock } = this.#options
    const end = clock.now() + WAIT_MS
    while (!(await vault.lease(grant, this.#owner, LEASE_MS))) {
      const result = await this.#findOtherResult(grant)
      if (result !== undefined) return result
      if (clock.now() >= end)
        return { kind: 'unavailable', why: 'timed out waiting for another process to renew the login' }
      await new Promise<void>(resolve => void clock.after(POLL_MS, resolve))
    }
    return undefined
  }

  /** Returns another process's result: a new generation, or a removed grant. */
  async #findOtherResult(grant: StoredGrant): Promise<RenewalOutcome | undefined> {
    const { vault } = this.#options
    const now = await vault.findCurrent(grant)
    if (now === undefined) return { kind: 'lost', why: (await vault.findLossReason(grant)) ?? 'logged out' }
    return now.generation === grant.generation ? undefined : { kind: 'granted', grant: now }
  }

  async #toOutcome(grant: StoredGrant, refreshed: RefreshResult): Promise<RenewalOutcome> {
    if (refreshed.kind === 'granted') return this.#storeGrant(grant, refreshed.grant)
    if (refreshed.kind === 'unreachable') {
      const why = `the authorization server is unreachable: ${toOneLine(refreshed.reason).slice(0, MAX_WORDS)}`
      return this.#startPause(grant, { kind: 'unavailable', why }, refreshed.retryAfterMs)
    }
    const why = formatRefusal(refreshed)
    if (refreshed.error !== 'invalid_grant') return this.#startPause(grant, { kind: 'refused', why }, MAX_PAUSE_MS)
    const { vault } = this.#options
    if (!(await vault.remove(grant, grant.generation, why)))
      return (await this.#findOtherResult(grant)) ?? createLost(why)
    return createLost(why)
  }

  /** Requests a refresh with its own timeout. */
  async #requestRefresh(grant: StoredGrant): Promise<RefreshResult> {
    const { endpoint, clock } = this.#options
    const ending = new AbortController()
    let takeBack = (): void => undefined
    const timeout = new Promise<RefreshResult>(resolve => {
      takeBack = clock.after(REQUEST_MS, () => {
        ending.abort()
        resolve({ kind: 'unreachable', reason: `no answer within ${REQUEST_MS / 1000} s` })
      })
    })
    try {
      return await Promise.race([endpoint.refresh(grant, ending.signal), timeout])
    } catch (error) {
      return { kind: 'unreachable', reason: getErrorMessage(error) }
    } finally {
      takeBack()
    }
  }

  /** Stores the grant before it is used. */
  async #storeGrant(before: StoredGrant, grant: NewGrant): Promise<RenewalOutcome> {
    const { vault, log } = this.#options
    const { account, resource, issuer, caller, refresh } = before
    const renewed = {
      ...(caller && { caller }),
      ...(refresh !== undefined && { refresh }),
      ...grant,
    }
    this.#pauses.delete(createPauseKey(before))
    try {
      const generation = await vault.put(before, renewed, before.generation)
      // A concurrent login wins.
      if (generation === undefined) return (await this.#findOtherResult(before)) ?? createLost('logged out')
      return { kind: 'granted', grant: { account, resource, issuer, ...renewed, generation, at: this.#now() } }
    } catch (error) {
      log.error('a renewed login could not be written; kept in memory', {
        resource,
        why: getErrorMessage(error),
      })
      const unwritten = { account, resource, issuer, ...renewed, generation: before.generation, at: this.#now() }
      vault.keepUnwritten(unwritten)
      return { kind: 'granted', grant: unwritten }
    }
  }

  #getPauseOutcome(grant: StoredGrant): RenewalOutcome | undefined {
    const pause = this.#pauses.get(createPauseKey(grant))
    return pause !== undefined && this.#options.clock.now() < pause.until ? pause.outcome : undefined
  }

  #startPause(grant: StoredGrant, outcome: RenewalOutcome, minPauseMs = 0): RenewalOutcome {
    const { clock } = this.#options
    const before = this.#pauses.get(createPauseKey(grant))?.ms ?? FIRST_PAUSE_MS / 2
    const ms = Math.min(Math.max(before * 2, minPauseMs), MAX_PAUSE_MS)
    this.#pauses.set(createPauseKey(grant), { until: clock.now() + ms, ms, outcome })
    return outcome
  }

  #toAccess(renewed: RenewalOutcome, before: StoredGrant): Access {
    if (renewed.kind === 'granted') return toTokenAccess(renewed.grant)
    if (renewed.kind === 'lost') return { kind: 'login', why: renewed.why }
    if (this.#isAlive(before)) return toTokenAccess(before)
    return { kind: renewed.kind === 'refused' ? 'login' : 'unavailable', why: renewed.why }
  }

  async #findMissingReason(key: LoginKey): Promise<string> {
    return (await this.#options.vault.findLossReason(key)) ?? NOT_LOGGED_IN
  }

  #isRecent(times: BoundedMap<number, number>, { generation }: StoredGrant): boolean {
    const at = times.get(generation)
    return at !== undefined && this.#options.clock.now() - at < REJECTED_MS
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

/** Converts vault errors to an unavailable token. */
async function toUnavailable(work: () => Promise<Access>): Promise<Access> {
  try {
    return await work()
  } catch (error) {
    return { kind: 'unavailable', why: getErrorMessage(error) }
  }
}

function toTokenAccess({ access, generation }: StoredGrant): Access {
  return { kind: 'token', token: access, generation }
}
