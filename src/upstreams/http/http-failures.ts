import type { Reason } from '../../errors/errors.ts'
import { gatewayError, GatewayError } from '../../errors/errors.ts'
import type { ReplyHeaders } from '../../net/http-client-types.ts'
import { ClientError } from '../../net/http-client-types.ts'
import { isObject } from '../../protocol/json/json.ts'
import type { RpcError } from '../../protocol/rpc-error.ts'
import { RPC } from '../../protocol/rpc-error.ts'
import { formatPeerText } from '../../util/log.ts'

/** Server messages for an unknown session, instead of the required 404; lower case, without the id. */
const SESSION_ERRORS: ReadonlySet<string> = new Set([
  'no valid session id provided',
  'invalid session id',
  'invalid or expired session id',
  'session not found',
  'session terminated',
  'unknown session',
  'unknown session id',
  'session does not exist',
  'session expired',
  'session has expired',
  'session id not found',
  'session is no longer valid',
  'session not initialized',
  'no transport found for sessionid',
])

/** Upper limit for `Retry-After`. */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000

/** Retry delay if too many requests wait for a connection. */
const BUSY_RETRY_MS = 1000

/** An HTTP error from a server. */
export interface HttpErrorReply {
  readonly status: number
  readonly body: string
  readonly challenge?: string | undefined
  /** Delay before the next request, in milliseconds. */
  readonly retryAfterMs?: number | undefined
  readonly location?: string | undefined
}

/** Limit for error bodies. */
export const MAX_REFUSAL_BYTES = 64 * 1024

/** Error body bytes to parse; more than is ever shown. */
export const MAX_SHOWN_BYTES = 1200

/**
 * Creates the error for a status without a JSON-RPC answer. Only the owner sees the body, as servers quote request
 * data.
 */
export function createStatusError(upstream: string, reply: HttpErrorReply): GatewayError {
  const { status, body, challenge, retryAfterMs } = reply
  const reason: Reason = { why: `HTTP ${status}`, detail: extractServerMessage(body, challenge) }
  if (status === 401 || (status === 403 && challenge !== undefined))
    return gatewayError('GW_UPSTREAM_AUTH', { upstream, status, ...reason })
  if (status === 403) return gatewayError('GW_UPSTREAM_FORBIDDEN', { upstream, status, ...reason })
  if (status === 429 || status >= 500)
    return gatewayError('GW_UPSTREAM_DOWN', { upstream, status, retryAfterMs, ...reason })
  if (status >= 300 && status < 400) {
    return gatewayError('GW_UPSTREAM_PROTOCOL', {
      upstream,
      status,
      why: `redirect${formatRedirectTarget(reply.location)} (HTTP ${status}) was not followed, as it leads to another origin: configure the final URL`,
    })
  }
  if (status < 300)
    return gatewayError('GW_UPSTREAM_PROTOCOL', {
      upstream,
      why: `HTTP ${status} without a response message`,
      detail: extractServerMessage(body),
    })
  return gatewayError('GW_UPSTREAM_PROTOCOL', { upstream, status, ...reason })
}

/** Formats a redirect target without its query, which may be secret. */
export function formatRedirectTarget(location: string | undefined): string {
  const target = location?.split(/[?#]/)[0]
  return target === undefined ? '' : ` to ${formatPeerText(target, 200)}`
}

export function extractServerMessage(body: string, challenge?: string): string | undefined {
  const parts = [body.trim(), challenge === undefined ? '' : `WWW-Authenticate: ${challenge}`]
  const text = parts.filter(part => part !== '').map(part => formatPeerText(part, 200))
  return text.length === 0 ? undefined : text.join(' | ')
}

/** Creates the error for a request whose connection broke. */
export function createBrokenError(upstream: string, error: unknown, hasAnswerBegun: boolean): GatewayError {
  // An authorizer failed between two attempts.
  if (error instanceof GatewayError) return error
  const why = `the connection was lost before the answer was complete (${describeCause(error)})`
  return gatewayError('GW_UPSTREAM_CLOSED', {
    upstream,
    why,
    stale: !hasAnswerBegun && isClosedByPeer(error),
  })
}

/**
 * Creates the error for a request that the gateway did not send, for a reason unrelated to the server; otherwise
 * returns undefined.
 */
export function createLocalRefusal(upstream: string, error: unknown): GatewayError | undefined {
  if (error instanceof GatewayError) return error
  if (!(error instanceof ClientError)) return undefined
  if (error.code === 'OVERFLOW')
    return gatewayError('GW_UPSTREAM_BUSY', { upstream, why: error.message, retryAfterMs: BUSY_RETRY_MS })
  if (error.code !== 'INVALID_ARG') return undefined
  const why = `invalid HTTP request (${formatPeerText(error.message, 100)})`
  return gatewayError('GW_UPSTREAM_PROTOCOL', { upstream, why })
}

export function describeUnreachable(error: unknown): string {
  return `unreachable (${describeCause(error)})`
}

function describeCause(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  const text = typeof code === 'string' && code !== '' && code !== 'PROXY' ? code : String(message)
  return formatPeerText(text, 100)
}

function isClosedByPeer(error: unknown): boolean {
  const code = (error as { code?: unknown }).code
  return code === 'SOCKET' || code === 'ECONNRESET' || code === 'EPIPE'
}

/**
 * Parses `Retry-After` (RFC 9110, 10.2.3) to milliseconds; undefined if invalid. Dates are compared with the server's
 * own `Date`, so that clocks need not agree.
 */
export function parseRetryAfter(headers: ReplyHeaders): number | undefined {
  const value = headers['retry-after']?.trim() ?? ''
  if (/^\d{1,9}$/.test(value)) return Math.min(Number(value) * 1000, MAX_RETRY_AFTER_MS)
  const ms = Date.parse(value) - Date.parse(String(headers.date))
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS)
}

const SESSION_CODES: ReadonlySet<unknown> = new Set([RPC.legacyNoSession, RPC.invalidRequest])

/** True if an error status reports an unknown session. */
export function isSessionForgotten(status: number, body: string, session?: string): boolean {
  if (status === 404) return !body.includes('-32601')
  return status === 410 || matchesSessionError(extractMessage(body), session)
}

/** True if a JSON-RPC error reports an unknown session. */
export function isSessionError({ code, message }: RpcError, session: string): boolean {
  return SESSION_CODES.has(code) && matchesSessionError(message, session)
}

/**
 * True if the whole text reports an unknown session. Tool output that mentions sessions must not close the session
 * for all.
 */
function matchesSessionError(message: string, session = ''): boolean {
  const text = message
    .replace(session, '')
    .toLowerCase()
    .replace(/["'`:\s]+/g, ' ')
    .trim()
    .replace(/^bad request /, '')
    .replace(/\.$/, '')
  return SESSION_ERRORS.has(text)
}

/** Returns a JSON-RPC error's message, or a text that is not JSON. */
function extractMessage(body: string): string {
  let value: unknown
  try {
    value = JSON.parse(body)
  } catch {
    return body
  }
  const error = isObject(value) && value.jsonrpc === '2.0' ? value.error : undefined
  return isObject(error) && typeof error.message === 'string' ? error.message : ''
}
