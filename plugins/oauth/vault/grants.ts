import { randomUUID } from 'node:crypto'
import type { Clock, Log } from '../../../src/plugin.ts'
import { BoundedMap, getErrorMessage } from '../../../src/plugin.ts'
import type { Access, LoginKey, StoredGrant, TokenEndpoint } from '../types.ts'
import type { RenewalOutcome } from './refresher.ts'
import { Refresher } from './refresher.ts'
import type { Vault } from './vault.ts'

/** Maximum generations with a rejection. */
const MAX_REJECTED = 1000
/** Renew a token this long before it expires, or in the last quarter of a shorter life. */
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

/** Tokens from the vault. Each is refreshed once for all callers and processes. */
export class RefreshedGrants {
  readonly #options: GrantsDeps
  readonly #refresher: Refresher
  readonly #now: () => number
  /** Clock times by generation: `refused` generations were rejected, `forced` ones replaced a rejected one. */
  readonly #refused = new BoundedMap<number, number>({ max: MAX_REJECTED })
  readonly #forced = new BoundedMap<number, number>({ max: MAX_REJECTED })

  constructor(options: GrantsDeps) {
    const { now = Date.now } = options
    this.#options = options
    this.#now = now
    this.#refresher = new Refresher({ ...options, owner: randomUUID(), now })
  }

  /** Returns a valid token, refreshed before it expires. */
  async access(key: LoginKey): Promise<Access> {
    return toUnavailable(async () => {
      const grant = this.#refresher.preferUnwritten(await this.#options.vault.find(key))
      if (grant === undefined) return { kind: 'login', why: await this.#findMissingReason(key) }
      if (this.#isRecent(this.#refused, grant)) return { kind: 'login', why: REJECTED }
      if (!this.#isDue(grant)) return toTokenAccess(grant)
      if (grant.refresh !== undefined) return this.#toAccess(await this.#refresher.renew(grant), grant)
      return this.#isAlive(grant) ? toTokenAccess(grant) : { kind: 'login', why: EXPIRED }
    })
  }

  /** Renews a token that was rejected with 401, once for all callers with that generation. */
  async renewRefused(key: LoginKey, generation: number): Promise<Access> {
    return toUnavailable(async () => {
      const { vault, clock } = this.#options
      const grant = this.#refresher.preferUnwritten(await vault.findCurrent(key))
      if (grant === undefined) return { kind: 'login', why: await this.#findMissingReason(key) }
      if (grant.generation !== generation) return this.access(key)
      const isUseless = this.#isRecent(this.#forced, grant) || this.#isRecent(this.#refused, grant)
      if (grant.refresh === undefined || isUseless) {
        this.#refused.set(generation, clock.now())
        return { kind: 'login', why: REJECTED }
      }
      const renewed = await this.#refresher.renew(grant)
      if (renewed.kind === 'granted') this.#forced.set(renewed.grant.generation, clock.now())
      return this.#toAccess(renewed, { ...grant, expiresAt: 0 })
    })
  }

  /** Returns the status from the vault, without requests. */
  async getStatus(key: LoginKey): Promise<LoginStatus> {
    try {
      const grant = this.#refresher.preferUnwritten(await this.#options.vault.find(key))
      if (grant === undefined) return { kind: 'needs_auth', why: await this.#findMissingReason(key) }
      if (this.#isRecent(this.#refused, grant)) return { kind: 'needs_auth', why: REJECTED }
      if (grant.refresh === undefined && !this.#isAlive(grant)) return { kind: 'needs_auth', why: EXPIRED }
      return { kind: 'granted', grant }
    } catch (error) {
      return { kind: 'unusable', why: getErrorMessage(error) }
    }
  }

  /** Resolves when no refresh is running. */
  waitUntilIdle(): Promise<void> {
    return this.#refresher.waitUntilIdle()
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
