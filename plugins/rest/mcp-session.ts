import { randomUUID } from 'node:crypto'
import type {
  Answer,
  ClientDescription,
  HttpReply,
  HttpRequest,
  JsonObject,
  Notification,
  Session,
  Refusal,
} from '../../src/plugin.ts'
import { GatewayError, getHttpStatus, isObject, getErrorMessage, RPC } from '../../src/plugin.ts'

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
export function problem(status: number, detail: string, more: JsonObject = {}): HttpReply {
  // Avoid an import, which would load the HTTP modules without REST too.
  const title = process.getBuiltinModule('node:http').STATUS_CODES[status] ?? 'Error'
  return {
    status,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store' },
    body: JSON.stringify({ type: 'about:blank', title, status, detail, ...more }),
  }
}

/** Converts a JSON-RPC error to a problem reply. */
export function toProblem(error: Refusal['error'], tool?: string): HttpReply {
  const data = isObject(error.data) ? error.data : {}
  const more = { rpcCode: error.code, ...(error.data === undefined ? {} : { data: error.data }) }
  const reply = problem(getProblemStatus(error, data, tool), error.message, more)
  const { retryAfterMs } = data
  if (typeof retryAfterMs !== 'number') return reply
  const seconds = String(Math.max(1, Math.ceil(retryAfterMs / 1000)))
  return { ...reply, headers: { ...reply.headers, 'retry-after': seconds } }
}

/** Converts a thrown error to a problem reply. */
export function toProblemFromThrown(thrown: unknown): HttpReply {
  if (!(thrown instanceof GatewayError)) throw new Error(getErrorMessage(thrown), { cause: thrown })
  const { code, message, fields, entry } = thrown
  const { retryAfterMs } = fields
  const data = typeof retryAfterMs === 'number' ? { code, retryAfterMs } : { code }
  return toProblem({ code: entry.rpc ?? RPC.internal, message, data })
}

function getProblemStatus({ code, message }: Refusal['error'], data: JsonObject, tool: string | undefined): number {
  const own = getHttpStatus(data.code)
  if (own !== undefined) return own
  if (typeof data.retryAfterMs === 'number') return 429
  if (tool !== undefined && message === `Unknown tool: ${tool}`) return 404
  return RPC_HTTP_STATUS.get(code) ?? UPSTREAM_ERROR_STATUS
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
  readonly params: JsonObject | undefined
  /** Input before parsing. */
  readonly received?: JsonObject
  /** Receives notifications before the answer. */
  readonly emit?: (notification: Notification) => void
}

/** Runs requests in sessions. */
export interface RestSessions {
  /** Runs `work` in a new session. Rejects with a GatewayError if a plugin refuses the session. */
  withSession<T>(request: RestRequest, isTold: boolean, work: (session: RestSession) => Promise<T>): Promise<T>
}

/** Session for one request. */
export interface RestSession {
  request(errand: RestCall): Promise<Answer>
}

const IGNORE_NOTIFICATION = (): void => undefined

export function createRestSessions(): RestSessions {
  // Session ids are unique across reloads too.
  const own = randomUUID()
  let count = 0
  return {
    async withSession(request, isTold, work) {
      const { http, profile = http.profile } = request
      const { gate, listener, caller: principal, label } = http
      const session = await gate.openSession({
        id: `rest-${own}-${++count}`,
        listener,
        principal,
        label,
        profile,
        client: describeClient(isTold),
        notify: () => false,
      })
      let isGone = false
      http.onDisconnect(() => (isGone = true))
      try {
        return await work({ request: errand => runRequest(http, session, errand) })
      } finally {
        gate.closeSession(session, isGone ? 'disconnected' : 'answered')
      }
    },
  }
}

async function runRequest(http: HttpRequest, session: Session, errand: RestCall): Promise<Answer> {
  const { method, params, received, emit = IGNORE_NOTIFICATION } = errand
  const { remoteAddress } = http
  const inbound = {
    method,
    params,
    received,
    headers: dropMcpHeaders(http),
    via: 'rest',
    remoteAddress,
    credentials: http,
    emit,
  } as const
  const running = http.gate.run(session, inbound)
  http.onDisconnect(() => running.cancel('the client closed the connection'))
  return running.answer
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
