import { createHash } from 'node:crypto'
import type { Config, JsonObject, Principal } from '../../src/plugin.ts'
import { BoundedMap } from '../../src/plugin.ts'
import type { CallerIdentity } from './types.ts'
import type { Vault } from './vault/vault.ts'

/** Issuers of unauthenticated callers: on a pipe, and without `auth`. */
const UNIDENTIFIED: ReadonlySet<string> = new Set(['', 'http'])

const accounts = new WeakMap<Principal, string>()

/** Returns a caller's account, hashed from issuer and subject; undefined for an unauthenticated one. */
export function getAccount(principal: Principal): string | undefined {
  if (UNIDENTIFIED.has(principal.issuer)) return undefined
  let account = accounts.get(principal)
  if (account === undefined) {
    account = hashAccount(principal)
    accounts.set(principal, account)
  }
  return account
}

/** Hashes issuer and subject. */
export function hashAccount({ issuer, subject }: CallerIdentity): string {
  return createHash('sha256').update(`${issuer}\0${subject}`).digest('base64url')
}

/** Issuer of callers with an API key, and the prefix of their display names. */
const KEYS_ISSUER = 'api-key'
const KEY = 'key:'

/** Formats a caller as `key:ci` or `<issuer> <subject>`; `parseCaller` reverses it. */
export function formatCaller({ issuer, subject }: CallerIdentity): string {
  return issuer === KEYS_ISSUER ? `${KEY}${subject}` : `${issuer} ${subject}`
}

/**
 * Parses `key:<name>`, `<issuer> <subject>`, or the subject alone if all callers have one issuer. Undefined if it is
 * ambiguous.
 */
export function parseCaller(text: string, auth: Config['auth']): CallerIdentity | undefined {
  const issuers = listIssuers(auth)
  if (text.startsWith(KEY) && issuers.includes(KEYS_ISSUER))
    return { issuer: KEYS_ISSUER, subject: text.slice(KEY.length) }
  const issuer = issuers.find(one => text.startsWith(`${one} `))
  if (issuer !== undefined) return { issuer, subject: text.slice(issuer.length + 1).trimStart() }
  const [only, ...others] = issuers
  return only === undefined || others.length > 0 ? undefined : { issuer: only, subject: text }
}

function listIssuers(auth: Config['auth']): string[] {
  const { keys, keysFile, jwt = [], certificates = [] } = auth ?? {}
  const ofKeys = keys === undefined && keysFile === undefined ? [] : [KEYS_ISSUER]
  return [...ofKeys, ...[...jwt, ...certificates].map(({ issuer }) => issuer)]
}

/** Maximum waiting callers over all upstreams. */
const MAX_WAITING = 10_000

/** A caller that must log in. */
interface WaitingCaller {
  readonly upstream: string
  readonly resource: string
  readonly account: string
  readonly caller: CallerIdentity
  /** Milliseconds since 1970. */
  readonly since: number
}

/** Callers that must log in. A later login, even by another process, removes them. */
export class WaitingCallers {
  readonly #vault: Pick<Vault, 'getGrantTime'>
  readonly #waiting = new BoundedMap<string, WaitingCaller>({ max: MAX_WAITING })

  constructor(vault: Pick<Vault, 'getGrantTime'>) {
    this.#vault = vault
  }

  addWaiting(one: WaitingCaller): void {
    this.#waiting.set(createWaitingKey(one.upstream, one.account), one)
  }

  listWaiting(): WaitingCaller[] {
    const matching: WaitingCaller[] = []
    for (const [key, one] of [...this.#waiting.entries()])
      if (this.#isDone(one)) this.#waiting.delete(key)
      else matching.push(one)
    return matching
  }

  countWaiting(upstream: string): number {
    return this.listWaiting().filter(one => one.upstream === upstream).length
  }

  /**
   * Returns true if the caller has logged in since it was asked to; a current refusal is then older than the login.
   */
  hasLoggedIn(upstream: string, resource: string, account: string): boolean {
    const waiting = this.#waiting.get(createWaitingKey(upstream, account))
    const at = this.#vault.getGrantTime({ account, resource })
    return at !== undefined && (waiting === undefined || at > waiting.since)
  }

  #isDone(one: WaitingCaller): boolean {
    const at = this.#vault.getGrantTime(one)
    return at !== undefined && at > one.since
  }
}

function createWaitingKey(upstream: string, account: string): string {
  return JSON.stringify([upstream, account])
}

/** Creates a row of `gateway logins`. */
export function createWaitingRow({ upstream, resource, account, since }: WaitingCaller): JsonObject {
  const why = 'a call of this caller was refused without a login'
  return { upstream, account, resource, state: 'needs_auth', why, since }
}
