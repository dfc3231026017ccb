import type { Clock } from '../../api/index.ts'
import type { Reason } from '../../errors/errors.ts'
import { gatewayError, GatewayError } from '../../errors/errors.ts'
import type { ReplyHeaders } from '../../http-client/transport.ts'
import { ClientError } from '../../http-client/transport.ts'
import { isObject } from '../../protocol/json/json.ts'
import type { RpcError } from '../../protocol/rpc-error.ts'
import { RPC } from '../../protocol/rpc-error.ts'
import { formatPeerText } from '../../util/log.ts'
import type { Connection } from '../connection/connection.ts'

/** Refusals within this time after the first are of the call, or pass. */
const MIN_DOUBT_MS = 1000

/** Notices when a server goes on to refuse a session with statuses that do not say why. */
export class SessionDoubt {
  readonly #clock: Clock
  #connection: Connection | undefined
  #since = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts a refusal; true if it comes a while after the first, and the server refuses a ping too. */
  async isConfirmed(connection: Connection): Promise<boolean> {
    if (connection.transport.session === undefined) return false
    const now = this.#clock.now()
    const isFirst = connection !== this.#connection
    if (!isFirst && now - this.#since < MIN_DOUBT_MS) return false
    this.#connection = connection
    this.#since = now
    return !isFirst && (await isPingRefused(connection))
  }
}

async function isPingRefused(connection: Connection): Promise<boolean> {
  try {
    await connection.sendRequest('ping', undefined)
    return false
  } catch (error) {
    return error instanceof GatewayError && typeof error.fields.status === 'number'
  }
}

/** What servers say of a session that they do not know where the protocol wants 404; in lower case, without its id. */
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

/** Longer pauses are as good as this one. */
const MAX_RETRY_AFTER_MS = 24 * 3_600_000

/** When to come back where too many wait for a connection. */
const BUSY_RETRY_MS = 1000

/** A refusal of a server. */
export interface HttpErrorReply {
  readonly status: number
  readonly body: string
  /** Its `WWW-Authenticate`. */
  readonly challenge?: string | undefined
  /** When it wants to be asked again. */
  readonly retryAfterMs?: number | undefined
  /** Target of a redirect. */
  readonly location?: string | undefined
}

/** Bodies of refusals are read to this length. */
export const MAX_REFUSAL_BYTES = 64 * 1024

/** Most bytes of one that are looked at: more than is ever shown of it. */
export const MAX_SHOWN_BYTES = 1200

/** The error for a status without a JSON-RPC answer. Its body is for the owner alone, as servers quote what they were sent. */
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
      why: `it redirects${formatRedirectTarget(reply.location)} (HTTP ${status}), which is followed within one origin only: configure the final URL`,
    })
  }
  if (status < 300)
    return gatewayError('GW_UPSTREAM_PROTOCOL', {
      upstream,
      why: `HTTP ${status} without an answer`,
      detail: extractServerMessage(body),
    })
  return gatewayError('GW_UPSTREAM_PROTOCOL', { upstream, status, ...reason })
}

/** Names the target of a redirect, without its parameters, which may be secret. */
export function formatRedirectTarget(location: string | undefined): string {
  const target = location?.split(/[?#]/)[0]
  return target === undefined ? '' : ` to ${formatPeerText(target, 200)}`
}

/** Extracts the server's error text, for the owner only. */
export function extractServerMessage(body: string, challenge?: string): string | undefined {
  const parts = [body.trim(), challenge === undefined ? '' : `WWW-Authenticate: ${challenge}`]
  const text = parts.filter(part => part !== '').map(part => formatPeerText(part, 200))
  return text.length === 0 ? undefined : text.join(' | ')
}

/** The error of a request whose connection broke. */
export function createBrokenError(upstream: string, error: unknown, hasAnswerBegun: boolean): GatewayError {
  // An authorizer said no between two attempts.
  if (error instanceof GatewayError) return error
  const why = `the connection broke before the answer was complete (${describeCause(error)})`
  return gatewayError('GW_UPSTREAM_CLOSED', {
    upstream,
    why,
    stale: !hasAnswerBegun && isClosedByPeer(error),
  })
}

/** The error of a request that we did not send, for a reason that says nothing of the server; undefined for any other. */
export function createLocalRefusal(upstream: string, error: unknown): GatewayError | undefined {
  if (error instanceof GatewayError) return error
  if (!(error instanceof ClientError)) return undefined
  if (error.code === 'OVERFLOW')
    return gatewayError('GW_UPSTREAM_BUSY', { upstream, why: error.message, retryAfterMs: BUSY_RETRY_MS })
  if (error.code !== 'INVALID_ARG') return undefined
  const why = `the request cannot be written as HTTP (${formatPeerText(error.message, 100)})`
  return gatewayError('GW_UPSTREAM_PROTOCOL', { upstream, why })
}

/** Describes a connection failure. */
export function describeUnreachable(error: unknown): string {
  return `it cannot be reached (${describeCause(error)})`
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
 * Milliseconds that `Retry-After` asks for (RFC 9110, 10.2.3); undefined when it says nothing that can be understood.
 * A date counts from the server's own, so that no two clocks must agree.
 */
export function parseRetryAfter(headers: ReplyHeaders): number | undefined {
  const said = headers['retry-after']?.trim() ?? ''
  if (/^\d{1,9}$/.test(said)) return Math.min(Number(said) * 1000, MAX_RETRY_AFTER_MS)
  const ms = Date.parse(said) - Date.parse(String(headers.date))
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS)
}

const SESSION_CODES: ReadonlySet<unknown> = new Set([RPC.legacyNoSession, RPC.invalidRequest])

/** True if an error status says that the server has forgotten our session. */
export function isSessionForgotten(status: number, body: string, session?: string): boolean {
  if (status === 404) return !body.includes('-32601')
  return status === 410 || matchesSessionError(extractMessage(body), session)
}

/** True if a JSON-RPC error says that the server has forgotten our session. */
export function isSessionError({ code, message }: RpcError, session: string): boolean {
  return SESSION_CODES.has(code) && matchesSessionError(message, session)
}

/** True if a text says that, and nothing else. A call that makes a server speak of sessions must not end the session of all. */
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

/** The message of a JSON-RPC error, or a text that is no JSON. */
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
