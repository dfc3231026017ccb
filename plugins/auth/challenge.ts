import type { Answer, Credentials, Refusal, RpcError } from '../../src/plugin.ts'
import { defineErrors, gatewayError, RPC } from '../../src/plugin.ts'

/** Errors of authentication and its rules. */
export const ERRORS = {
  GW_FORBIDDEN: {
    text: '{what} needs the scope {scopes}',
    hint: 'Ask the issuer for a token with these scopes; auth.rules says what needs which.',
    http: 403,
    rpc: RPC.invalidRequest,
  },
} as const

const authError = defineErrors(ERRORS)

/** Longer ones are refused unread. Node itself reads at most 16 KiB of headers. */
const MAX_LENGTH = 8 * 1024

const BEARER = /^Bearer +([A-Za-z0-9\-._~+/]+=*) *$/i

/** Members of `WWW-Authenticate` (RFC 6750), in this order. */
interface ChallengeParameters {
  readonly error?: 'invalid_token' | 'insufficient_scope'
  readonly scopes?: readonly string[]
  /** URL of the metadata; undefined where no authorization server could give a token. */
  readonly metadata: string | undefined
}

/** 401. Why a credential was not accepted is for the log: it would help the one who forged it. */
export function createUnauthorized(why: string, parameters: ChallengeParameters): Refusal {
  const error = gatewayError('GW_UNAUTHORIZED', { why })
  return {
    status: 401,
    error: { code: error.entry.rpc ?? 0, message: error.message, data: { code: error.code } },
    headers: { 'www-authenticate': formatChallenge(parameters) },
  }
}

/** Error in the place of an answer. */
export type ErrorAnswer = Extract<Answer, { readonly error: unknown }>

/** Code of the error that asks for scopes. */
export const FORBIDDEN = 'GW_FORBIDDEN'

/** Error of what takes scopes that the caller lacks. */
export function createScopeError(what: string, scopes: readonly string[]): RpcError {
  const { entry, message, code } = authError(FORBIDDEN, { what, scopes: scopes.join(' ') })
  return { code: entry.rpc ?? 0, message, data: { code, scopes } }
}

/** 403, with exactly the scopes that this operation needs. */
export function createForbidden(
  what: string,
  scopes: readonly string[],
  metadata: string | undefined,
): ErrorAnswer {
  const headers = { 'www-authenticate': formatChallenge({ error: 'insufficient_scope', scopes, metadata }) }
  return { error: createScopeError(what, scopes), http: { status: 403, headers }, refusedBy: 'auth' }
}

/** The challenge of another plugin, such as `policy`, with where tokens come from; undefined where there is nothing to add. */
export function addMetadata(answer: Answer, metadata: string | undefined): Answer | undefined {
  if (metadata === undefined || !('error' in answer) || answer.http === undefined) return undefined
  const { headers } = answer.http
  const given = headers?.['www-authenticate']
  if (given === undefined || given.includes('resource_metadata=')) return undefined
  const whole = { ...headers, 'www-authenticate': `${given}, resource_metadata="${metadata}"` }
  return { ...answer, http: { ...answer.http, headers: whole } }
}

function formatChallenge({ error, scopes = [], metadata }: ChallengeParameters): string {
  const parts = [
    error === undefined ? [] : [`error="${error}"`],
    scopes.length === 0 ? [] : [`scope="${scopes.join(' ')}"`],
    metadata === undefined ? [] : [`resource_metadata="${metadata}"`],
  ].flat()
  return parts.length === 0 ? 'Bearer' : `Bearer ${parts.join(', ')}`
}

/** Credential of a caller: none, one that cannot be read, or one secret. */
type Credential =
  | { readonly kind: 'none' }
  | { readonly kind: 'bad'; readonly why: string }
  | { readonly kind: 'secret'; readonly secret: string; readonly isToken: boolean }

/** The one secret of a request. Two are refused: which of them counted would be a guess. */
export function readCredential(credentials: Credentials, keyHeader: string): Credential {
  const authorization = credentials.header('authorization')
  const keys = credentials.header(keyHeader)
  if (authorization.length + keys.length > 1) return createBadCredential('more than one credential was sent')
  const [key = ''] = keys
  const [sent] = authorization
  if (sent === undefined) return keys.length === 0 ? { kind: 'none' } : classifySecret(key, false)
  const token = sent.length > MAX_LENGTH ? undefined : BEARER.exec(sent)?.[1]
  return token === undefined
    ? createBadCredential('Authorization is no Bearer credential')
    : classifySecret(token, isJwt(token))
}

function classifySecret(secret: string, isToken: boolean): Credential {
  return secret === '' || secret.length > MAX_LENGTH
    ? createBadCredential('the credential has no acceptable length')
    : { kind: 'secret', secret, isToken }
}

/** Our keys have no dots. */
function isJwt(token: string): boolean {
  return token.includes('.')
}

function createBadCredential(why: string): Credential {
  return { kind: 'bad', why }
}
