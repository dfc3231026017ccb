import { createHash } from 'node:crypto'
import type { Config, Principal } from '../../src/plugin.ts'
import type { CallerIdentity } from './types.ts'

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

/** A caller that was asked to log in. */
export interface WaitingCaller {
  readonly upstream: string
  readonly account: string
  readonly caller: CallerIdentity
  /** Milliseconds since 1970. */
  readonly since: number
}

export function createWaitingKey(upstream: string, account: string): string {
  return JSON.stringify([upstream, account])
}
