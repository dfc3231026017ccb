import { randomUUID } from 'node:crypto'
import type {
  Answer,
  ClientDescription,
  HttpReply,
  HttpRequest,
  JsonObject,
  Notification,
  Refusal,
} from '../../src/plugin.ts'
import { GatewayError, getHttpStatus, getErrorMessage, readMap, RPC } from '../../src/plugin.ts'

/** HTTP statuses for JSON-RPC error codes. */
const RPC_HTTP_STATUS: ReadonlyMap<number, number> = new Map([
  [RPC.invalidParams, 400],
  [RPC.invalidRequest, 400],
  [RPC.missingCapability, 400],
  [RPC.methodNotFound, 404],
])
/** HTTP status for other upstream errors. */
const UPSTREAM_ERROR_STATUS = 502

/** Creates a problem reply (RFC 9457). */
export function problem(
  status: number,
  detail: string,
  more: JsonObject = {},
  headers: HttpReply['headers'] = {},
): HttpReply {
  // Avoid an import, which would load the HTTP modules without REST too.
  const title = process.getBuiltinModule('node:http').STATUS_CODES[status] ?? 'Error'
  return {
    status,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store', ...headers },
    body: JSON.stringify({ type: 'about:blank', title, status, detail, ...more }),
  }
}

/** Converts a JSON-RPC error to a problem reply. */
export function toProblem({ code, message, data }: Refusal['error'], headers?: HttpReply['headers']): HttpReply {
  const { retryAfterMs, code: ownCode } = readMap(data)
  const isLimited = typeof retryAfterMs === 'number'
  const known = message.startsWith('Unknown tool: ') ? 404 : RPC_HTTP_STATUS.get(code)
  const status = getHttpStatus(ownCode) ?? (isLimited ? 429 : (known ?? UPSTREAM_ERROR_STATUS))
  const retry: HttpReply['headers'] = isLimited
    ? { 'retry-after': String(Math.max(1, Math.ceil(retryAfterMs / 1000))) }
    : {}
  // JSON omits undefined data.
  return problem(status, message, { rpcCode: code, data }, { ...retry, ...headers })
}

/** Converts a thrown error to a problem reply. */
export function toProblemFromThrown(thrown: unknown): HttpReply {
  if (!(thrown instanceof GatewayError)) throw new Error(getErrorMessage(thrown), { cause: thrown })
  const { code, message, fields, entry } = thrown
  const { retryAfterMs } = fields
  const data = typeof retryAfterMs === 'number' ? { code, retryAfterMs } : { code }
  return toProblem({ code: entry.rpc ?? RPC.internal, message, data })
}

/** Request to the REST API. */
export interface RestRequest {
  readonly http: HttpRequest
  /** Profile in the path. */
  readonly profile: string | undefined
  /** API path prefix. */
  readonly base: string
}

interface RestCall {
  readonly method: string
  readonly params: JsonObject
  /** Input before parsing. */
  readonly received?: JsonObject
  /** Receives notifications before the answer. */
  readonly emit?: (notification: Notification) => void
}

/** Sends a request in the session of one REST request. */
export type SendRequest = (call: RestCall) => Promise<Answer>

/** Runs work in a new session. Rejects with a GatewayError if a plugin refuses the session. */
export async function withSession<T>(
  { http, profile = http.profile }: RestRequest,
  isTold: boolean,
  work: (send: SendRequest) => Promise<T>,
): Promise<T> {
  const { gate, listener, caller: principal, label, remoteAddress } = http
  const session = await gate.openSession({
    id: `rest-${randomUUID()}`,
    ...{ listener, principal, label, profile },
    client: describeClient(isTold),
    notify: () => false,
  })
  const headers = dropMcpHeaders(http)
  let isGone = false
  http.onDisconnect(() => (isGone = true))
  try {
    return await work(({ method, params, received, emit = () => undefined }) => {
      const inbound = {
        method,
        params,
        received,
        emit,
        headers,
        via: 'rest',
        remoteAddress,
        credentials: http,
      } as const
      const running = gate.run(session, inbound)
      http.onDisconnect(() => running.cancel('the client closed the connection'))
      return running.answer
    })
  } finally {
    gate.closeSession(session, isGone ? 'disconnected' : 'answered')
  }
}

/** Describes a client without capabilities. */
function describeClient(isTold: boolean): ClientDescription {
  return {
    info: { name: 'rest', version: '1' },
    capabilities: {},
    version: '2026-07-28',
    era: 'modern',
    logLevel: isTold ? 'info' : undefined,
  }
}

/** Drops MCP headers, which have no meaning for REST. */
function dropMcpHeaders({ forwardHeaders }: HttpRequest): Record<string, string> {
  return Object.fromEntries(Object.entries(forwardHeaders).filter(([name]) => !name.startsWith('mcp-')))
}
