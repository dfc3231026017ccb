import { compileGlobs } from '../util/globs.ts'
import type { Config, Principal, Session } from './index.ts'

/** Caller on a local pipe, or at a listener without authentication. */
export const ANONYMOUS: Principal = Object.freeze({
  issuer: '',
  client: '',
  subject: 'anonymous',
  scopes: Object.freeze([]),
})

/** Unidentified caller over HTTP. `ANONYMOUS` is the owner's local pipe. */
export const STRANGER: Principal = Object.freeze({ ...ANONYMOUS, issuer: 'http' })

/** Cached, as every exchange reads the key several times. */
const principalKeys = new WeakMap<Principal, string>()

/** The principal as a key. JSON, so that delimiters cannot be forged. */
export function principalKey(principal: Principal): string {
  let key = principalKeys.get(principal)
  if (key === undefined) {
    key = JSON.stringify([principal.issuer, principal.client, principal.subject])
    principalKeys.set(principal, key)
  }
  return key
}

/** Task owner key: a delegate has its own. */
export function actorKey(principal: Principal): string {
  const key = principalKey(principal)
  return principal.delegate === undefined ? key : JSON.stringify([key, principal.delegate])
}

/** Cached like the key. */
const authorizationKeys = new WeakMap<Principal, string>()

/** Key of a principal and its permissions: tokens of one caller may have different scopes. */
export function authorizationKey(principal: Principal): string {
  let key = authorizationKeys.get(principal)
  if (key === undefined) {
    const { issuer, client, subject, scopes, groups } = principal
    const grants = [[...new Set(scopes)].sort(), ...(groups === undefined ? [] : [[...new Set(groups)].sort()])]
    key = JSON.stringify([issuer, client, subject, ...grants])
    authorizationKeys.set(principal, key)
  }
  return key
}

/** Conversation key: principal and label, or the session id without a label. */
export function conversationKey({ id, principal, label }: Session): string {
  return `${principalKey(principal)}${label === undefined ? `#${id}` : ` ${label}`}`
}

/**
 * Key for quotas: the principal. Anonymous callers are counted by session, except modern ones, as each request may be
 * a session.
 */
export function callerKey(session: Session): string {
  const key = principalKey(session.principal)
  if (key !== principalKey(ANONYMOUS) || session.client.era !== 'legacy') return key
  let own = sessionKeys.get(session)
  if (own === undefined) sessionKeys.set(session, (own = `${key}#${session.id}`))
  return own
}

/** Cached keys for anonymous sessions. */
const sessionKeys = new WeakMap<Session, string>()

/** View key: permissions and profile. Sessions with one key see the same lists. */
export function viewerKey({ principal, profile }: Pick<Session, 'principal' | 'profile'>): string {
  return profile === undefined ? authorizationKey(principal) : `${authorizationKey(principal)} ${profile}`
}

/** Issuers of tokens and certificates in `auth`. */
function listIssuers(auth: Config['auth']): string[] {
  return [...(auth?.jwt ?? []), ...(auth?.certificates ?? [])].map(({ issuer }) => issuer)
}

/**
 * Verified tokens of callers, for token exchange, held only as long as the principal. Never send one to a server that
 * it was not issued for.
 */
export const verifiedTokens = new WeakMap<Principal, string>()

/** API key issuer. */
const KEYS_ISSUER = 'api-key'
/** Issuers of unidentified callers, on a pipe and over HTTP. */
const UNIDENTIFIED: readonly string[] = ['', 'http']

/** Returns how a caller was identified: API key, token, or not at all. */
export function getCredentialType({ issuer }: Principal): 'key' | 'token' | 'nobody' {
  if (UNIDENTIFIED.includes(issuer)) return 'nobody'
  return issuer === KEYS_ISSUER ? 'key' : 'token'
}

/**
 * Compiles a test for callers by `<subject>` or `<issuer> <subject>`; subjects are globs. A subject alone means an
 * API key; without keys, the only issuer; without `auth`, any caller that a plugin identifies. `*` alone is every
 * caller.
 */
export function compileCallers(
  patterns: string | readonly string[],
  auth: Config['auth'],
): (principal: Pick<Principal, 'issuer' | 'subject'>) => boolean {
  const list = typeof patterns === 'string' ? [patterns] : patterns
  if (list.includes('*')) return () => true
  const issuers = [KEYS_ISSUER, ...listIssuers(auth)]
  const split = list.map(pattern => parseCallerPattern(pattern, issuers))
  const isPlain = compileGlobs(split.flatMap(({ issuer, subject }) => (issuer === undefined ? [subject] : [])))
  const byIssuer = new Map(
    issuers.map(issuer => [issuer, compileGlobs(split.flatMap(one => (one.issuer === issuer ? [one.subject] : [])))]),
  )
  const isUsual = createDefaultIssuerTest(auth)
  return ({ issuer, subject }) => byIssuer.get(issuer)?.(subject) === true || (isUsual(issuer) && isPlain(subject))
}

/** Splits a pattern. Without a known issuer it is a subject, spaces included. */
function parseCallerPattern(
  pattern: string,
  issuers: readonly string[],
): { issuer: string | undefined; subject: string } {
  const issuer = issuers.find(one => pattern.startsWith(`${one} `))
  return { issuer, subject: issuer === undefined ? pattern : pattern.slice(issuer.length + 1).trimStart() }
}

/** Returns a test for issuers whose subjects need no issuer in a pattern. */
function createDefaultIssuerTest(auth: Config['auth']): (issuer: string) => boolean {
  if (auth === undefined) return () => true
  const { keys = [], keysFile } = auth
  const issuers = new Set(listIssuers(auth))
  const hasKeys = keys.length > 0 || keysFile !== undefined
  const own = hasKeys ? KEYS_ISSUER : issuers.size === 1 ? [...issuers][0] : undefined
  return issuer => issuer === own || UNIDENTIFIED.includes(issuer)
}
