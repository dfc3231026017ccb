import { gatewayError, OWNER_ONLY, type GatewayError } from '../../errors/errors.ts'
import { ClientError } from '../../http-client/handler.ts'
import { visible } from '../../transport/printable.ts'

/** When to come back where too many wait for a connection. */
const BUSY_RETRY_MS = 1000

/** What a server refused a request with. */
export interface StatusReply {
  readonly status: number
  readonly body: string
  /** Its `WWW-Authenticate`. */
  readonly challenge?: string | undefined
  /** When it wants to be asked again. */
  readonly retryAfterMs?: number | undefined
}

/** Bodies of refusals are read to this length. */
export const MAX_REFUSAL = 64 * 1024
/** How much of one may count, in bytes: more than is ever shown of it. */
export const SHOWN_BODY = 1200

/** What a status without a JSON-RPC answer means. What the body says is for the owner alone, as servers quote what they were sent. */
export function statusFailure(upstream: string, reply: StatusReply): GatewayError {
  const { status, body, challenge, retryAfterMs } = reply
  const why = `HTTP ${status}${said(body, challenge)}`
  if (status === 401 || (status === 403 && challenge !== undefined))
    return gatewayError('GW_UPSTREAM_AUTH', { upstream, status, why })
  if (status === 403) return gatewayError('GW_UPSTREAM_FORBIDDEN', { upstream, status, why })
  if (status === 429 || status >= 500)
    return gatewayError('GW_UPSTREAM_DOWN', { upstream, status, retryAfterMs, why })
  if (status >= 300 && status < 400) {
    return gatewayError('GW_UPSTREAM_PROTOCOL', {
      upstream,
      status,
      why: `it redirects (HTTP ${status}); redirects are not followed, so configure the final URL`,
    })
  }
  if (status < 300)
    return gatewayError('GW_UPSTREAM_PROTOCOL', {
      upstream,
      why: `HTTP ${status} without an answer${said(body)}`,
    })
  return gatewayError('GW_UPSTREAM_PROTOCOL', { upstream, status, why })
}

/** What a server said beside a status, for the owner's eyes. */
export function said(body: string, challenge?: string): string {
  const parts = [body.trim(), challenge === undefined ? '' : `WWW-Authenticate: ${challenge}`]
  const text = parts.filter(part => part !== '').map(part => visible(part, 200))
  return text.length === 0 ? '' : `${OWNER_ONLY}${text.join(' | ')}`
}

/** What a broken connection means to the request that was on it. */
export function brokenFailure(upstream: string, error: unknown, hasAnswerBegun: boolean): GatewayError {
  const why = `the connection broke before the answer was complete (${reason(error)})`
  return gatewayError('GW_UPSTREAM_CLOSED', {
    upstream,
    why,
    stale: !hasAnswerBegun && isClosedByPeer(error),
  })
}

/** The error of a request that we did not send, for a reason that says nothing of the server; undefined for any other. */
export function refusedHere(upstream: string, error: unknown): GatewayError | undefined {
  if (!(error instanceof ClientError)) return undefined
  if (error.code === 'OVERFLOW')
    return gatewayError('GW_UPSTREAM_BUSY', { upstream, why: error.message, retryAfterMs: BUSY_RETRY_MS })
  if (error.code !== 'INVALID_ARG') return undefined
  const why = `the request cannot be written as HTTP (${visible(error.message, 100)})`
  return gatewayError('GW_UPSTREAM_PROTOCOL', { upstream, why })
}

/** What it means that no connection came about. */
export function unreachable(error: unknown): string {
  return `it cannot be reached (${reason(error)})`
}

function reason(error: unknown): string {
  const { code, message } = error as { code?: unknown; message?: unknown }
  const text = typeof code === 'string' && code !== '' ? code : String(message)
  return visible(text, 100)
}

function isClosedByPeer(error: unknown): boolean {
  const code = (error as { code?: unknown }).code
  return code === 'SOCKET' || code === 'ECONNRESET' || code === 'EPIPE'
}
