import { createHash } from 'node:crypto'
import type { Config, Principal } from '../../src/plugin.ts'

/** Issuers of callers whom nobody identified: on a pipe, and on an open path. */
const UNIDENTIFIED: ReadonlySet<string> = new Set(['', 'http'])

const accounts = new WeakMap<Principal, string>()

/** The account of a caller: a digest of issuer and subject, whatever its client is. Undefined for one whom nobody identified. */
export function accountOf(principal: Principal): string | undefined {
  const { issuer, subject } = principal
  if (UNIDENTIFIED.has(issuer)) return undefined
  let account = accounts.get(principal)
  if (account === undefined) {
    account = digestOf(issuer, subject)
    accounts.set(principal, account)
  }
  return account
}

/** Issuer of callers with an API key. */
const KEYS_ISSUER = 'api-key'

/**
 * The account of a caller whom somebody names as `<issuer> <subject>`, or by the subject alone where callers have one issuer. Undefined
 * where that does not say who it is.
 */
export function accountNamed(text: string, auth: Config['auth']): string | undefined {
  const { keys, keysFile, jwt = [], certificates = [] } = auth ?? {}
  const ofKeys = keys === undefined && keysFile === undefined ? [] : [KEYS_ISSUER]
  const issuers = [...ofKeys, ...[...jwt, ...certificates].map(({ issuer }) => issuer)]
  const issuer = issuers.find(one => text.startsWith(`${one} `))
  if (issuer !== undefined) return digestOf(issuer, text.slice(issuer.length + 1).trimStart())
  const [only, ...others] = issuers
  return only === undefined || others.length > 0 ? undefined : digestOf(only, text)
}

function digestOf(issuer: string, subject: string): string {
  return createHash('sha256').update(`${issuer}\0${subject}`).digest('base64url')
}
