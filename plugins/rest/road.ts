import { randomUUID } from 'node:crypto'
import type {
  Answer,
  ClientDescription,
  Clock,
  HttpReply,
  HttpRequest,
  JsonObject,
  Notification,
  RpcError,
  Session,
} from '../../src/plugin.ts'
import { GatewayError, getHttpStatus, isObject, getErrorMessage, RPC } from '../../src/plugin.ts'

/** The statuses of errors that are the protocol's, not the gateway's. */
const STATUS: ReadonlyMap<number, number> = new Map([
  [RPC.invalidParams, 400],
  [RPC.invalidRequest, 400],
  [RPC.missingCapability, 400],
  [RPC.methodNotFound, 404],
])
/** Status of a server's error that no caller can help. */
const FROM_UPSTREAM = 502

/** A refusal as RFC 9457 writes it. */
export function problem(status: number, detail: string, more: JsonObject = {}): HttpReply {
  // An import of it would load all of fetch, whoever serves no REST included.
  const title = process.getBuiltinModule('node:http').STATUS_CODES[status] ?? 'Error'
  return {
    status,
    headers: { 'content-type': 'application/problem+json', 'cache-control': 'no-store' },
    body: JSON.stringify({ type: 'about:blank', title, status, detail, ...more }),
  }
}

/** The same of an error answer to a call of this tool. */
export function problemOf(error: RpcError, tool?: string): HttpReply {
  const data = isObject(error.data) ? error.data : {}
  const more = { rpcCode: error.code, ...(error.data === undefined ? {} : { data: error.data }) }
  const reply = problem(statusOf(error, data, tool), error.message, more)
  const { retryAfterMs } = data
  if (typeof retryAfterMs !== 'number') return reply
  const seconds = String(Math.max(1, Math.ceil(retryAfterMs / 1000)))
  return { ...reply, headers: { ...reply.headers, 'retry-after': seconds } }
}

/** The same of what was thrown before there was an answer. */
export function problemOfThrown(thrown: unknown): HttpReply {
  if (!(thrown instanceof GatewayError)) throw new Error(getErrorMessage(thrown), { cause: thrown })
  const { code, message, fields, entry } = thrown
  const { retryAfterMs } = fields
  const data = typeof retryAfterMs === 'number' ? { code, retryAfterMs } : { code }
  return problemOf({ code: entry.rpc ?? RPC.internal, message, data })
}

function statusOf({ code, message }: RpcError, data: JsonObject, tool: string | undefined): number {
  const own = getHttpStatus(data.code)
  if (own !== undefined) return own
  if (typeof data.retryAfterMs === 'number') return 429
  if (tool !== undefined && message === `Unknown tool: ${tool}`) return 404
  return STATUS.get(code) ?? FROM_UPSTREAM
}

/** One request to the façade. */
export interface RestRequest {
  readonly http: HttpRequest
  /** The profile that its path names. */
  readonly profile: string | undefined
  /** Prefix of the façade's paths here. */
  readonly base: string
}

interface RestCall {
  readonly method: string
  readonly params: JsonObject | undefined
  /** The input that the parameters were made from. */
  readonly received?: JsonObject
  /** Hears what is said ahead of the answer; without it nobody wants to. */
  readonly emit?: (notification: Notification) => void
}

/** The way of a request through the gateway. */
export interface RestSessions {
  readonly clock: Clock
  /** Opens a session for `work`, and ends it. Rejects with a GatewayError when a plugin refuses the session. */
  within<T>(request: RestRequest, isTold: boolean, work: (visit: RestSession) => Promise<T>): Promise<T>
}

/** A session for the time of one request. */
export interface RestSession {
  run(errand: RestCall): Promise<Answer>
}

const SILENT = (): void => undefined

export function REST_SESSIONS(clock: Clock): RestSessions {
  // No other conversation has such an id, after a reload neither.
  const own = randomUUID()
  let count = 0
  return {
    clock,
    async within(request, isTold, work) {
      const { http, profile = http.profile } = request
      const { gate, listener, caller: principal, label } = http
      const session = await gate.openSession({
        id: `rest-${own}-${++count}`,
        listener,
        principal,
        label,
        profile,
        client: clientOf(isTold),
        notify: () => false,
      })
      let isGone = false
      http.onDisconnect(() => (isGone = true))
      try {
        return await work({ run: errand => run(http, session, errand) })
      } finally {
        gate.closeSession(session, isGone ? 'disconnected' : 'answered')
      }
    },
  }
}

async function run(http: HttpRequest, session: Session, errand: RestCall): Promise<Answer> {
  const { method, params, received, emit = SILENT } = errand
  const { remoteAddress } = http
  const inbound = {
    method,
    params,
    received,
    headers: headersOf(http),
    via: 'rest',
    remoteAddress,
    credentials: http,
    emit,
  } as const
  const running = http.gate.run(session, inbound)
  http.onDisconnect(() => running.cancel('the client closed the connection'))
  return running.answer
}

/** A client without capabilities: whoever asks it for something hears that. */
function clientOf(isTold: boolean): ClientDescription {
  return {
    info: { name: 'rest', version: '1' },
    capabilities: {},
    version: '2026-07-28',
    era: 'modern',
    logLevel: isTold ? 'info' : undefined,
  }
}

/** Headers of MCP mean nothing where no MCP is spoken. */
function headersOf({ forwardHeaders }: HttpRequest): Record<string, string> {
  return Object.fromEntries(Object.entries(forwardHeaders).filter(([name]) => !name.startsWith('mcp-')))
}
