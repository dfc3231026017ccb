import { isObject, type JsonObject, RPC, reasonOf } from '../../../src/plugin.ts'
import { AgentFailure, type FailureKind } from '../types/agent.ts'
import { isHeavierThan } from './updates.ts'

/** Codes of the Agent Client Protocol (its schema v1, ErrorCode); some mean something else in MCP. */
export const CODES = {
  invalidParams: RPC.invalidParams,
  methodNotFound: RPC.methodNotFound,
  internal: RPC.internal,
  cancelled: -32800,
  /** The same number, and another meaning. */
  authRequired: RPC.legacyBadRequest,
} as const

const MAX_MESSAGE = 2048

/** Why a request to an agent failed, as a failure of the agent. */
export function failureOf(thrown: unknown, agent: string, phase: string): AgentFailure {
  if (thrown instanceof AgentFailure) return thrown
  if (!(thrown instanceof RpcFault))
    return new AgentFailure('protocol', phase, `agent "${agent}": ${reasonOf(thrown)}`)
  const kind = kindOf(thrown)
  const words = `agent "${agent}" ${SAYS[kind] ?? 'answered with an error'} in ${phase}: ${thrown.message} (${thrown.code})${causeIn(thrown)}`
  return new AgentFailure(kind, phase, words, detailsOf(thrown))
}

/** Details of an error beside its message, which is often no more than "Internal error". */
function causeIn({ message, data }: RpcFault): string {
  const cause = textIn(data, 0)?.slice(0, MAX_CAUSE)
  return cause === undefined || message.includes(cause) ? '' : `: ${cause}`
}

const CAUSE_KEYS = ['details', 'detail', 'message', 'error', 'cause', 'reason']

const MAX_CAUSE = 1000

function textIn(data: unknown, depth: number): string | undefined {
  if (typeof data === 'string') return data.trim() === '' ? undefined : data
  if (depth > MAX_DEPTH || !isObject(data)) return undefined
  for (const key of CAUSE_KEYS) {
    const found = textIn(data[key], depth + 1)
    if (found !== undefined) return found
  }
  return undefined
}

const SAYS: { readonly [K in FailureKind]?: string } = {
  auth: 'wants a login',
  limit: 'has reached a limit',
}

function kindOf({ code, data }: RpcFault): FailureKind {
  if (code === TOO_MANY || saysLimit(data, 0)) return 'limit'
  return code === CODES.authRequired || code === UNAUTHORIZED ? 'auth' : 'refused'
}

/** Statuses of HTTP that some agents have as codes. */
const TOO_MANY = 429

const UNAUTHORIZED = 401

const MAX_DEPTH = 4

/** Keys that hold an HTTP status or the name of an error, as SDKs of model providers write them. */
const STATUS_KEYS = [
  'status',
  'statusCode',
  'status_code',
  'httpStatus',
  'http_status',
  'code',
  'type',
  'reason',
]

const LIMIT_NAMES = new Set([
  ...['429', 'resource_exhausted', 'rate_limit', 'rate_limited', 'rate_limit_error', 'rate_limit_exceeded'],
  ...['ratelimited', 'ratelimiterror', 'too_many_requests', 'quota_exceeded', 'insufficient_quota'],
  ...['usage_limit_reached', 'usagelimitexceeded', 'usage_limit_exceeded'],
])

/** Only fields that say so count, and the status of a reply; prose never does. */
function saysLimit(data: unknown, depth: number): boolean {
  if (depth > MAX_DEPTH) return false
  if (typeof data === 'string') return saysLimitInText(data, depth)
  if (Array.isArray(data)) return data.slice(0, 16).some(each => saysLimit(each, depth + 1))
  if (!isObject(data)) return false
  if (STATUS_KEYS.some(key => isLimitName(data[key]))) return true
  if (typeof data['@type'] === 'string' && data['@type'].endsWith('.QuotaFailure')) return true
  return Object.values(data)
    .slice(0, 32)
    .some(value => saysLimit(value, depth + 1))
}

/** The error of a provider as its SDK writes it into a text: its JSON, or the HTTP status in front. */
function saysLimitInText(text: string, depth: number): boolean {
  if (HTTP_429.test(text.slice(0, MAX_CAUSE))) return true
  const at = text.indexOf('{')
  if (at < 0 || text.length > MAX_DETAILS) return false
  try {
    return saysLimit(JSON.parse(text.slice(at, text.lastIndexOf('}') + 1)), depth + 1)
  } catch {
    return false
  }
}

const HTTP_429 = /(^|\b(status|error|code|http)( code)?[ :=]{1,3})429\b/i

function isLimitName(value: unknown): boolean {
  if (typeof value === 'number') return value === TOO_MANY
  return typeof value === 'string' && LIMIT_NAMES.has(value.toLowerCase())
}

const MAX_DETAILS = 16 * 1024

function detailsOf({ code, message, data }: RpcFault): JsonObject {
  const isSmall = data !== undefined && !isHeavierThan(MAX_DETAILS, data)
  return { code, message, ...(isSmall ? { data } : {}) }
}

/** An error as JSON-RPC has it: what a peer answered, or is answered. */
export class RpcFault extends Error {
  override readonly name = 'RpcFault'
  readonly code: number
  readonly data: unknown

  constructor(code: number, message: string, data?: unknown) {
    super(message)
    this.code = code
    this.data = data
  }
}

/** Reads the error of a peer, whatever shape it has. */
export function faultFrom(error: unknown): RpcFault {
  const { code, message, data } = isObject(error) ? error : ({} as JsonObject)
  const text = typeof message === 'string' ? message.slice(0, MAX_MESSAGE) : 'an error without words'
  return new RpcFault(typeof code === 'number' ? code : CODES.internal, text, data)
}

/** Error that is answered when a handler of ours has thrown: its own code where it has one, and no internals otherwise. */
export function errorOf(thrown: unknown): { code: number; message: string; data?: unknown } {
  if (!(thrown instanceof Error) || !('code' in thrown) || typeof thrown.code !== 'number')
    return { code: CODES.internal, message: 'Internal error' }
  const data = 'data' in thrown && thrown.data !== undefined ? { data: thrown.data } : {}
  return { code: thrown.code, message: thrown.message, ...data }
}
