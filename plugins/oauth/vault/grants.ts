import { randomUUID } from 'node:crypto'
import type { Clock, Log } from '../../../src/plugin.ts'
import { BoundedMap, getErrorMessage } from '../../../src/plugin.ts'
import type { Access, Grants, KeptGrant, TokenEndpoint, Vault } from '../types.ts'
import type { Renewed } from './refresher.ts'
import { Refresher } from './refresher.ts'

/** Grants that are remembered between two looks at the file. */
const MAX_REMEMBERED = 1000
/** A token is renewed this long before its end, or in the last quarter of a shorter life. */
const AHEAD_MS = 60_000
const QUARTER = 4
/** A server that refuses a token which was just made is not asked with another one for this long. */
const REFUSED_MS = 60_000

/** Dependencies of the grants of a gateway. */
interface GrantsOptions {
  readonly vault: Vault
  readonly endpoint: TokenEndpoint
  readonly clock: Clock
  readonly log: Log
  /** Milliseconds since 1970. */
  readonly now?: () => number
  /** Name of this process in leases. */
  readonly owner?: string
  /** Told whenever the standing of a login may be another one. */
  changed?(account: string, resource: string): void
}

/** Standing of a login, for people. */
type Standing =
  | { readonly kind: 'granted'; readonly grant: KeptGrant }
  | { readonly kind: 'needs_auth'; readonly why: string }
  | { readonly kind: 'unusable'; readonly why: string }

/** Words for a login that was never made. */
export const NOBODY = 'nobody has logged in'

/** Tokens from the vault. Each is refreshed once for all who wait, in this process and in others. */
export class RefreshedGrants implements Grants {
  readonly #options: GrantsOptions
  readonly #refresher: Refresher
  readonly #now: () => number
  readonly #remembered = new BoundedMap<string, KeptGrant>({ max: MAX_REMEMBERED })
  /** When the server refused a generation, by the clock. */
  readonly #refused = new BoundedMap<number, number>({ max: MAX_REMEMBERED })
  /** Generations that were made because the one before was refused. */
  readonly #forced = new BoundedMap<number, number>({ max: MAX_REMEMBERED })
  #version: number | undefined

  constructor(options: GrantsOptions) {
    const { owner = randomUUID(), now = Date.now } = options
    this.#options = options
    this.#now = now
    const written = ({ account, resource }: KeptGrant): void => this.forget(account, resource)
    this.#refresher = new Refresher({ ...options, owner, now, written })
  }

  async access(account: string, resource: string): Promise<Access> {
    return this.#told(account, resource, async () => {
      const grant = await this.#find(account, resource)
      if (grant === undefined) return { kind: 'login', why: await this.#whyNone(account, resource) }
      if (this.#isRefused(grant)) return { kind: 'login', why: 'the server refused the token' }
      if (!this.#isDue(grant)) return tokenOf(grant)
      if (grant.refresh !== undefined) return this.#given(await this.#refresher.renewed(grant), grant)
      if (this.#isAlive(grant)) return tokenOf(grant)
      return { kind: 'login', why: 'the login has expired, and cannot be renewed' }
    })
  }

  async refused(account: string, resource: string, generation: number): Promise<Access> {
    return this.#told(account, resource, async () => {
      this.#remembered.delete(keyOf(account, resource))
      const grant = await this.#find(account, resource)
      if (grant === undefined) return { kind: 'login', why: await this.#whyNone(account, resource) }
      if (grant.generation !== generation) return this.access(account, resource)
      if (grant.refresh === undefined || this.#isForced(grant) || this.#isRefused(grant)) {
        this.#refused.set(generation, this.#options.clock.now())
        return { kind: 'login', why: 'the server refused the token' }
      }
      const renewed = await this.#refresher.renewed(grant)
      if (renewed.kind === 'granted') this.#forced.set(renewed.grant.generation, this.#options.clock.now())
      return this.#given(renewed, { ...grant, expiresAt: 0 })
    })
  }

  /** Standing of a login, from what the vault has now; nothing is sent to anybody. */
  async standing(account: string, resource: string): Promise<Standing> {
    try {
      const grant = await this.#find(account, resource)
      if (grant === undefined) return { kind: 'needs_auth', why: await this.#whyNone(account, resource) }
      if (this.#isRefused(grant)) return { kind: 'needs_auth', why: 'the server refused the token' }
      if (grant.refresh === undefined && !this.#isAlive(grant))
        return { kind: 'needs_auth', why: 'the login has expired, and cannot be renewed' }
      return { kind: 'granted', grant }
    } catch (error) {
      return { kind: 'unusable', why: getErrorMessage(error) }
    }
  }

  /** A login has been made or taken away in this process. */
  forget(account: string, resource: string): void {
    this.#remembered.delete(keyOf(account, resource))
    this.#options.changed?.(account, resource)
  }

  /** Resolves when no refresh is under way. */
  settled(): Promise<void> {
    return this.#refresher.settled()
  }

  /** Answers, whatever the vault does. */
  async #told(account: string, resource: string, work: () => Promise<Access>): Promise<Access> {
    try {
      const access = await work()
      if (access.kind !== 'token') this.#options.changed?.(account, resource)
      return access
    } catch (error) {
      return { kind: 'unavailable', why: getErrorMessage(error) }
    }
  }

  /** A grant that another process has changed is read again. */
  async #find(account: string, resource: string): Promise<KeptGrant | undefined> {
    const { vault } = this.#options
    const version = await vault.version()
    if (version !== this.#version) this.#remembered.clear()
    this.#version = version
    const key = keyOf(account, resource)
    const known = this.#remembered.get(key)
    if (known !== undefined) return known
    const found = this.#refresher.unwritten(await vault.find(account, resource))
    if (found !== undefined) this.#remembered.set(key, found)
    return found
  }

  #given(renewed: Renewed, before: KeptGrant): Access {
    this.#remembered.delete(keyOf(before.account, before.resource))
    if (renewed.kind === 'granted') return tokenOf(renewed.grant)
    if (renewed.kind === 'lost') return { kind: 'login', why: renewed.why }
    if (this.#isAlive(before)) return tokenOf(before)
    return { kind: renewed.kind === 'refused' ? 'login' : 'unavailable', why: renewed.why }
  }

  async #whyNone(account: string, resource: string): Promise<string> {
    const lost = await this.#options.vault.lost({ account, resource })
    const latest = lost
      .filter(one => one.account === account && one.resource === resource)
      .sort((a, b) => b.at - a.at)[0]
    return latest?.why ?? NOBODY
  }

  #isRefused({ generation }: KeptGrant): boolean {
    const at = this.#refused.get(generation)
    return at !== undefined && this.#options.clock.now() - at < REFUSED_MS
  }

  #isForced({ generation }: KeptGrant): boolean {
    const at = this.#forced.get(generation)
    return at !== undefined && this.#options.clock.now() - at < REFUSED_MS
  }

  #isDue({ expiresAt, at }: KeptGrant): boolean {
    // An end that is not after the beginning says nothing.
    if (expiresAt === undefined || expiresAt <= at) return false
    return this.#now() >= expiresAt - Math.min(AHEAD_MS, (expiresAt - at) / QUARTER)
  }

  #isAlive({ expiresAt, at }: KeptGrant): boolean {
    return expiresAt === undefined || (expiresAt > 0 && expiresAt <= at) || this.#now() < expiresAt
  }
}

function tokenOf({ access, generation }: KeptGrant): Access {
  return { kind: 'token', token: access, generation }
}

function keyOf(account: string, resource: string): string {
  return JSON.stringify([account, resource])
}
