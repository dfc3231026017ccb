import {
  GatewayError,
  httpStatusOf,
  isObject,
  reasonOf,
  RPC,
  type HttpReply,
  type JsonObject,
  type RpcError,
} from '../../src/plugin.ts'

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
  if (!(thrown instanceof GatewayError)) throw new Error(reasonOf(thrown), { cause: thrown })
  const { code, message, fields, entry } = thrown
  const { retryAfterMs } = fields
  const data = typeof retryAfterMs === 'number' ? { code, retryAfterMs } : { code }
  return problemOf({ code: entry.rpc ?? RPC.internal, message, data })
}

function statusOf({ code, message }: RpcError, data: JsonObject, tool: string | undefined): number {
  const own = httpStatusOf(data.code)
  if (own !== undefined) return own
  if (typeof data.retryAfterMs === 'number') return 429
  if (tool !== undefined && message === `Unknown tool: ${tool}`) return 404
  return STATUS.get(code) ?? FROM_UPSTREAM
}
