import { compileGlobs } from '../util/globs.ts'
import type { Config, Principal, Session } from './index.ts'

/** Principal of a caller without a name: on a local pipe, or at a listener that asks for no credentials. */
export const ANONYMOUS: Principal = Object.freeze({
  issuer: '',
  client: '',
  subject: 'anonymous',
  scopes: Object.freeze([]),
})

/** Principal of a caller over HTTP of whom nothing is known yet. Not `ANONYMOUS`, which is the owner's own pipe. */
export const STRANGER: Principal = Object.freeze({ ...ANONYMOUS, issuer: 'http' })

/** Written once for each principal: every exchange asks several times. */
const principalKeys = new WeakMap<Principal, string>()

/** The principal as part of a key. Encoded as JSON, so that no delimiter can be forged. */
export function principalKey(principal: Principal): string {
  let key = principalKeys.get(principal)
  if (key === undefined) {
    key = JSON.stringify([principal.issuer, principal.client, principal.subject])
    principalKeys.set(principal, key)
  }
  return key
}

/** Key of the owner of tasks: a delegate has its own. */
export function actorKey(principal: Principal): string {
  const key = principalKey(principal)
  return principal.delegate === undefined ? key : JSON.stringify([key, principal.delegate])
}

/** Written once for each principal, like its key. */
const authorizationKeys = new WeakMap<Principal, string>()

/** The principal with what it may do: whoever holds another token of the same caller may see other things. */
export function authorizationKey(principal: Principal): string {
  let key = authorizationKeys.get(principal)
  if (key === undefined) {
    const { issuer, client, subject, scopes, groups } = principal
    const held = [[...new Set(scopes)].sort(), ...(groups === undefined ? [] : [[...new Set(groups)].sort()])]
    key = JSON.stringify([issuer, client, subject, ...held])
    authorizationKeys.set(principal, key)
  }
  return key
}

/**
 * Key that keeps a conversation apart from all others: its label inside its principal, or the session's id if it has
 * none. The same label of another principal is another conversation.
 */
export function conversationKey({ id, principal, label }: Session): string {
  return `${principalKey(principal)}${label === undefined ? `#${id}` : ` ${label}`}`
}

/**
 * Key of a session's share of a bounded resource: that of its principal. Callers whom nobody asked who they are share by session, but
 * for modern ones: there each request may be a session.
 */
export function callerKey(session: Session): string {
  const key = principalKey(session.principal)
  if (key !== principalKey(ANONYMOUS) || session.client.era !== 'legacy') return key
  let own = sessionKeys.get(session)
  if (own === undefined) sessionKeys.set(session, (own = `${key}#${session.id}`))
  return own
}

/** Keys of sessions whose callers nobody knows: each call asks for its own several times. */
const sessionKeys = new WeakMap<Session, string>()

/** A session's principal with what it may do, in the profile it was opened for: who shares this shares every view. */
export function viewerKey({ principal, profile }: Pick<Session, 'principal' | 'profile'>): string {
  return profile === undefined ? authorizationKey(principal) : `${authorizationKey(principal)} ${profile}`
}

/** Issuers that `auth` names: of tokens, and of certificates. */
function listIssuers(auth: Config['auth']): string[] {
  return [...(auth?.jwt ?? []), ...(auth?.certificates ?? [])].map(({ issuer }) => issuer)
}

/** The token that each principal came with. It goes with the principal, and lies nowhere else. */
const tokensByPrincipal = new WeakMap<Principal, string>()

/** Keeps the verified token of a caller for whoever exchanges it for another one. It must never be sent to a server that it was not made for. */
export function storeToken(principal: Principal, token: string): void {
  tokensByPrincipal.set(principal, token)
}

/** The token that a caller came with; undefined where it came with a key, or with nothing. */
export function getToken(principal: Principal): string | undefined {
  return tokensByPrincipal.get(principal)
}

/** Issuer of callers that an API key identifies. */
const KEYS_ISSUER = 'api-key'
/** Issuers of callers that were not identified, on a pipe and on an open path: nobody else can have their subjects. */
const UNIDENTIFIED: readonly string[] = ['', 'http']

/** Tells by what a caller is known: an API key, a token, or nothing. */
export function getCredentialType({ issuer }: Principal): 'key' | 'token' | 'nobody' {
  if (UNIDENTIFIED.includes(issuer)) return 'nobody'
  return issuer === KEYS_ISSUER ? 'key' : 'token'
}

/**
 * A test for callers by `<subject>` or `<issuer> <subject>`, both as they were verified; subjects are globs. The same subject of
 * two issuers is two callers, so a subject alone means a key; without any keys, one of the only issuer; and without `auth`,
 * whoever a plugin lets in. `*` alone is everybody.
 */
export function compileCallers(
  patterns: string | readonly string[],
  auth: Config['auth'],
): (principal: Pick<Principal, 'issuer' | 'subject'>) => boolean {
  const list = typeof patterns === 'string' ? [patterns] : patterns
  if (list.includes('*')) return () => true
  const known = [KEYS_ISSUER, ...listIssuers(auth)]
  const split = list.map(pattern => parseCallerPattern(pattern, known))
  const isPlain = compileGlobs(
    split.flatMap(({ issuer, subject }) => (issuer === undefined ? [subject] : [])),
  )
  const byIssuer = new Map(
    known.map(issuer => [
      issuer,
      compileGlobs(split.flatMap(one => (one.issuer === issuer ? [one.subject] : []))),
    ]),
  )
  const isUsual = createDefaultIssuerTest(auth)
  return ({ issuer, subject }) =>
    byIssuer.get(issuer)?.(subject) === true || (isUsual(issuer) && isPlain(subject))
}

/** Splits a pattern. One that begins with no issuer that is known is a subject, blanks and all. */
function parseCallerPattern(
  pattern: string,
  known: readonly string[],
): { issuer: string | undefined; subject: string } {
  const issuer = known.find(one => pattern.startsWith(`${one} `))
  return { issuer, subject: issuer === undefined ? pattern : pattern.slice(issuer.length + 1).trimStart() }
}

/** Finds the issuers whose subjects stand alone. */
function createDefaultIssuerTest(auth: Config['auth']): (issuer: string) => boolean {
  if (auth === undefined) return () => true
  const { keys = [], keysFile } = auth
  const issuers = new Set(listIssuers(auth))
  const hasKeys = keys.length > 0 || keysFile !== undefined
  const own = hasKeys ? KEYS_ISSUER : issuers.size === 1 ? [...issuers][0] : undefined
  return issuer => issuer === own || UNIDENTIFIED.includes(issuer)
}
