import { createHash } from 'node:crypto'
import type { Config, Principal } from '../../src/plugin.ts'
import type { Caller } from './types.ts'

/** Issuers of callers whom nobody identified: on a pipe, and on an open path. */
const UNIDENTIFIED: ReadonlySet<string> = new Set(['', 'http'])

const accounts = new WeakMap<Principal, string>()

/** The account of a caller: a digest of issuer and subject, whatever its client is. Undefined for one whom nobody identified. */
export function accountOf(principal: Principal): string | undefined {
  if (UNIDENTIFIED.has(principal.issuer)) return undefined
  let account = accounts.get(principal)
  if (account === undefined) {
    account = accountFor(principal)
    accounts.set(principal, account)
  }
  return account
}

/** The account of a caller who is known by name. */
export function accountFor({ issuer, subject }: Caller): string {
  return createHash('sha256').update(`${issuer}\0${subject}`).digest('base64url')
}

/** Issuer of callers with an API key, and what their names begin with. */
const KEYS_ISSUER = 'api-key'
const KEY = 'key:'

/** Name of a caller for people, which `callerNamed` takes back: `key:ci`, or `<issuer> <subject>`. */
export function nameOf({ issuer, subject }: Caller): string {
  return issuer === KEYS_ISSUER ? `${KEY}${subject}` : `${issuer} ${subject}`
}

/**
 * The caller whom somebody names as `key:<name>`, as `<issuer> <subject>`, or by the subject alone where callers have one issuer.
 * Undefined where that does not say who it is.
 */
export function callerNamed(text: string, auth: Config['auth']): Caller | undefined {
  const issuers = issuersOf(auth)
  if (text.startsWith(KEY) && issuers.includes(KEYS_ISSUER))
    return { issuer: KEYS_ISSUER, subject: text.slice(KEY.length) }
  const issuer = issuers.find(one => text.startsWith(`${one} `))
  if (issuer !== undefined) return { issuer, subject: text.slice(issuer.length + 1).trimStart() }
  const [only, ...others] = issuers
  return only === undefined || others.length > 0 ? undefined : { issuer: only, subject: text }
}

function issuersOf(auth: Config['auth']): string[] {
  const { keys, keysFile, jwt = [], certificates = [] } = auth ?? {}
  const ofKeys = keys === undefined && keysFile === undefined ? [] : [KEYS_ISSUER]
  return [...ofKeys, ...[...jwt, ...certificates].map(({ issuer }) => issuer)]
}
