import { gatewayError, type GatewayError } from '../errors.ts'
import { ClientError } from './http-client/handler.ts'
import { visible } from './visible.ts'

/** When to come back where too many wait for a connection. */
const BUSY_RETRY_MS = 1000

/** What a status without a JSON-RPC answer means. `retryAfterMs` is when the server wants to be asked again. */
export function statusFailure(
  upstream: string,
  status: number,
  body: string,
  retryAfterMs?: number,
): GatewayError {
  if (status === 401 || status === 403) return gatewayError('GW_UPSTREAM_AUTH', { upstream, status })
  if (status === 429 || status >= 500)
    return gatewayError('GW_UPSTREAM_DOWN', {
      upstream,
      status,
      retryAfterMs,
      why: `HTTP ${status}${quoted(body)}`,
    })
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
      why: `HTTP ${status} without an answer${quoted(body)}`,
    })
  return gatewayError('GW_UPSTREAM_PROTOCOL', { upstream, status, why: `HTTP ${status}${quoted(body)}` })
}

function quoted(body: string): string {
  const text = body.trim()
  return text === '' ? '' : `: ${visible(text, 200)}`
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
