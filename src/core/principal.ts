import type { Principal, Session } from './ports.ts'

/** Nobody in particular: a local pipe, or a listener that asks for no credentials. */
export const ANONYMOUS: Principal = Object.freeze({
  issuer: '',
  client: '',
  subject: 'anonymous',
  scopes: Object.freeze([]),
})

/** Written once for each principal: every exchange asks several times. */
const keys = new WeakMap<Principal, string>()

/** The principal as part of a key. Encoded as JSON, so that no delimiter can be forged. */
export function principalKey(principal: Principal): string {
  let key = keys.get(principal)
  if (key === undefined) {
    key = JSON.stringify([principal.issuer, principal.client, principal.subject])
    keys.set(principal, key)
  }
  return key
}

/** Whose tasks are whose: a delegate has its own. */
export function actorKey(principal: Principal): string {
  const key = principalKey(principal)
  return principal.delegate === undefined ? key : JSON.stringify([key, principal.delegate])
}

/** Written once for each principal, like its key. */
const authorizations = new WeakMap<Principal, string>()

/** The principal with what it may do: whoever holds another token of the same caller may see other things. */
export function authorizationKey(principal: Principal): string {
  let key = authorizations.get(principal)
  if (key === undefined) {
    const { issuer, client, subject, scopes } = principal
    key = JSON.stringify([issuer, client, subject, [...new Set(scopes)].sort()])
    authorizations.set(principal, key)
  }
  return key
}

/**
 * What keeps a conversation apart from all others: its label inside its principal, or itself where it has none. The
 * same label of another principal is another conversation.
 */
export function conversationKey({ id, principal, label }: Session): string {
  return `${principalKey(principal)}${label === undefined ? `#${id}` : ` ${label}`}`
}

/**
 * Whose share of a bounded resource a session uses: that of its principal. Callers whom nobody asked who they are share by session, but
 * for modern ones: there each request may be a session.
 */
export function callerKey({ id, principal, client }: Session): string {
  const key = principalKey(principal)
  return key === principalKey(ANONYMOUS) && client.era === 'legacy' ? `${key}#${id}` : key
}

/** A session's principal with what it may do, in the profile it was opened for: who shares this shares every view. */
export function viewerKey({ principal, profile }: Session): string {
  return profile === undefined ? authorizationKey(principal) : `${authorizationKey(principal)} ${profile}`
}
