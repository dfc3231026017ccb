import { gatewayError, refuse, type Answer, type Refusal } from '../../src/plugin.ts'

/** Where protected resources describe themselves (RFC 9728). */
export const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/** The URL of the description of a resource: the path goes behind the well-known one. */
export function metadataUrl(resource: string): string {
  const { origin, pathname } = new URL(resource)
  return `${origin}${metadataPath(pathname)}`
}

export function metadataPath(pathname: string): string {
  return pathname === '/' ? WELL_KNOWN : WELL_KNOWN + pathname
}

/** What stands in `WWW-Authenticate` (RFC 6750), in this order. */
interface Parameters {
  readonly error?: 'invalid_token' | 'insufficient_scope'
  readonly scopes?: readonly string[]
  /** URL of the metadata; undefined where no authorization server could give a token. */
  readonly metadata: string | undefined
}

/** 401. Why a credential was not accepted is for the log: it would help the one who forged it. */
export function unauthorized(why: string, parameters: Parameters): Refusal {
  const error = gatewayError('GW_UNAUTHORIZED', { why })
  return {
    status: 401,
    error: { code: error.entry.rpc ?? 0, message: error.message, data: { code: error.code } },
    headers: { 'www-authenticate': challenge(parameters) },
  }
}

/** 403, with exactly the scopes that this operation needs. */
export function forbidden(what: string, scopes: readonly string[], metadata: string | undefined): Answer {
  const error = gatewayError('GW_FORBIDDEN', { what, scopes: scopes.join(' ') })
  return refuse(
    error.entry.rpc ?? 0,
    error.message,
    { code: error.code, scopes },
    {
      status: 403,
      headers: { 'www-authenticate': challenge({ error: 'insufficient_scope', scopes, metadata }) },
    },
  )
}

function challenge({ error, scopes = [], metadata }: Parameters): string {
  const parts = [
    error === undefined ? [] : [`error="${error}"`],
    scopes.length === 0 ? [] : [`scope="${scopes.join(' ')}"`],
    metadata === undefined ? [] : [`resource_metadata="${metadata}"`],
  ].flat()
  return parts.length === 0 ? 'Bearer' : `Bearer ${parts.join(', ')}`
}
