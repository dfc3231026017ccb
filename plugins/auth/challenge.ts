import type { Answer, Credentials, Refusal } from '../../src/plugin.ts'
import { defineErrors, gatewayError, RPC } from '../../src/plugin.ts'

export const ERRORS = {
  GW_FORBIDDEN: {
    text: '{what} requires the scope {scopes}',
    hint: 'Request a token with these scopes from the issuer; auth.rules defines the required scopes.',
    http: 403,
    rpc: RPC.invalidRequest,
  },
} as const

const authError = defineErrors(ERRORS)

/** Longer credentials are rejected unread. Node limits headers to 16 KiB. */
const MAX_LENGTH = 8 * 1024

const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i

/** `WWW-Authenticate` parameters (RFC 6750), in this order. */
interface ChallengeParameters {
  readonly error?: 'invalid_token' | 'insufficient_scope'
  readonly scopes?: readonly string[]
  /** Metadata URL; undefined without an authorization server. */
  readonly metadata: string | undefined
}

/** Creates a 401. The reason is only logged, because it would help an attacker. */
export function createUnauthorized(why: string, parameters: ChallengeParameters): Refusal {
  const error = gatewayError('GW_UNAUTHORIZED', { why })
  return {
    status: 401,
    error: { code: error.entry.rpc ?? 0, message: error.message, data: { code: error.code } },
    headers: { 'www-authenticate': formatChallenge(parameters) },
  }
}

/** An answer with an error. */
export type ErrorAnswer = Extract<Answer, { readonly error: unknown }>

/** Error code for missing scopes. */
export const FORBIDDEN = 'GW_FORBIDDEN'

/** Creates the error for missing scopes. */
export function createScopeError(subject: string, scopes: readonly string[]): Refusal['error'] {
  const { entry, message, code } = authError(FORBIDDEN, { what: subject, scopes: scopes.join(' ') })
  return { code: entry.rpc ?? 0, message, data: { code, scopes } }
}

/** Creates a 403 with exactly the scopes that the operation needs. */
export function createForbidden(subject: string, scopes: readonly string[], metadata: string | undefined): ErrorAnswer {
  const headers = { 'www-authenticate': formatChallenge({ error: 'insufficient_scope', scopes, metadata }) }
  return { error: createScopeError(subject, scopes), http: { status: 403, headers }, refusedBy: 'auth' }
}

/** Adds the metadata URL to another plugin's challenge, for example from `policy`; undefined if nothing changes. */
export function addMetadata(answer: Answer, metadata: string | undefined): Answer | undefined {
  if (metadata === undefined || !('error' in answer) || answer.http === undefined) return undefined
  const { headers } = answer.http
  const header = headers?.['www-authenticate']
  if (header === undefined || header.includes('resource_metadata=')) return undefined
  const extendedHeaders = { ...headers, 'www-authenticate': `${header}, resource_metadata="${metadata}"` }
  return { ...answer, http: { ...answer.http, headers: extendedHeaders } }
}

function formatChallenge({ error, scopes = [], metadata }: ChallengeParameters): string {
  const parts = [
    error === undefined ? [] : [`error="${error}"`],
    scopes.length === 0 ? [] : [`scope="${scopes.join(' ')}"`],
    metadata === undefined ? [] : [`resource_metadata="${metadata}"`],
  ].flat()
  return parts.length === 0 ? 'Bearer' : `Bearer ${parts.join(', ')}`
}

/** A request's credential: none, invalid, or one secret. */
type Credential =
  | { readonly kind: 'none' }
  | { readonly kind: 'bad'; readonly why: string }
  | { readonly kind: 'secret'; readonly secret: string; readonly isToken: boolean }

/** Reads a request's credential. Rejects two credentials as ambiguous. */
export function readCredential(credentials: Credentials, keyHeader: string): Credential {
  const authorization = credentials.header('authorization')
  const keys = credentials.header(keyHeader)
  if (authorization.length + keys.length > 1) return createBadCredential('multiple credentials in one request')
  const [key = ''] = keys
  const [sent] = authorization
  if (sent === undefined) return keys.length === 0 ? { kind: 'none' } : classifySecret(key, false)
  const token = sent.length > MAX_LENGTH ? undefined : BEARER.exec(sent)?.[1]
  return token === undefined
    ? createBadCredential('Authorization is not a Bearer credential')
    : classifySecret(token, isJwt(token))
}

function classifySecret(secret: string, isToken: boolean): Credential {
  return secret === '' || secret.length > MAX_LENGTH
    ? createBadCredential('invalid credential length')
    : { kind: 'secret', secret, isToken }
}

/** API keys contain no dots. */
function isJwt(token: string): boolean {
  return token.includes('.')
}

function createBadCredential(why: string): Credential {
  return { kind: 'bad', why }
}
