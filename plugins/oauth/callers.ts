import { createHash } from 'node:crypto'
import type { Config, JsonObject, Principal } from '../../src/plugin.ts'
import { BoundedMap } from '../../src/plugin.ts'
import type { CallerIdentity, Vault } from './types.ts'

/** Issuers of callers whom nobody identified: on a pipe, and on an open path. */
const UNIDENTIFIED: ReadonlySet<string> = new Set(['', 'http'])

const accounts = new WeakMap<Principal, string>()

/** The account of a caller: a digest of issuer and subject, whatever its client is. Undefined for one whom nobody identified. */
export function getAccount(principal: Principal): string | undefined {
  if (UNIDENTIFIED.has(principal.issuer)) return undefined
  let account = accounts.get(principal)
  if (account === undefined) {
    account = hashAccount(principal)
    accounts.set(principal, account)
  }
  return account
}

/** The account of a caller who is known by name. */
export function hashAccount({ issuer, subject }: CallerIdentity): string {
  return createHash('sha256').update(`${issuer}\0${subject}`).digest('base64url')
}

/** Issuer of callers with an API key, and what their names begin with. */
const KEYS_ISSUER = 'api-key'
const KEY = 'key:'

/** Name of a caller for people, which `parseCaller` takes back: `key:ci`, or `<issuer> <subject>`. */
export function formatCaller({ issuer, subject }: CallerIdentity): string {
  return issuer === KEYS_ISSUER ? `${KEY}${subject}` : `${issuer} ${subject}`
}

/**
 * The caller whom somebody names as `key:<name>`, as `<issuer> <subject>`, or by the subject alone where callers have one issuer.
 * Undefined where that does not say who it is.
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

/** Callers that are remembered as waiting, over all servers. */
const MAX_WAITING = 10_000

/** A caller who was told to log in. */
interface WaitingCaller {
  readonly upstream: string
  readonly resource: string
  readonly account: string
  readonly caller: CallerIdentity
  /** Milliseconds since 1970. */
  readonly since: number
}

/** Counts of the callers of one server. */
export interface LoginCounts {
  readonly granted: number
  readonly waiting: number
}

/** Callers that wait for a login of theirs: a login that was made since, here or in another process, ends it. */
export class WaitingCallers {
  readonly #vault: Pick<Vault, 'getGrantTime' | 'countCallers'>
  readonly #waiting = new BoundedMap<string, WaitingCaller>({ max: MAX_WAITING })

  constructor(vault: Pick<Vault, 'getGrantTime' | 'countCallers'>) {
    this.#vault = vault
  }

  addWaiting(one: WaitingCaller): void {
    this.#waiting.set(createWaitingKey(one.upstream, one.account), one)
  }

  /** Those that still wait. */
  listWaiting(): WaitingCaller[] {
    const found: WaitingCaller[] = []
    for (const [key, one] of [...this.#waiting.entries()])
      if (this.#isDone(one)) this.#waiting.delete(key)
      else found.push(one)
    return found
  }

  /** Undefined as long as nobody has opened the vault. */
  countLogins(upstream: string, resource: string): LoginCounts | undefined {
    const counted = this.#vault.countCallers(resource)
    if (counted === undefined) return undefined
    const waiting = this.listWaiting().filter(one => one.upstream === upstream)
    // A login that its server does not take any more is there, and of no use.
    const useless = waiting.filter(one => this.#vault.getGrantTime(one.account, resource) !== undefined)
    const accounts = new Set([...waiting.map(({ account }) => account), ...counted.lost])
    return { granted: counted.granted - useless.length, waiting: accounts.size }
  }

  /** True where a caller that was told to log in has done so: what refuses it now is older than the login. */
  hasLoggedIn(upstream: string, resource: string, account: string): boolean {
    const waiting = this.#waiting.get(createWaitingKey(upstream, account))
    const at = this.#vault.getGrantTime(account, resource)
    return at !== undefined && (waiting === undefined || at > waiting.since)
  }

  #isDone({ account, resource, since }: WaitingCaller): boolean {
    const at = this.#vault.getGrantTime(account, resource)
    return at !== undefined && at > since
  }
}

function createWaitingKey(upstream: string, account: string): string {
  return JSON.stringify([upstream, account])
}

/** A caller that waits, as a row of `gateway logins`. */
export function createWaitingRow({ upstream, resource, account, since }: WaitingCaller): JsonObject {
  const why = 'a call of this caller was refused, as there is no login'
  return { upstream, account, resource, state: 'needs_auth', why, since }
}
