import type { JsonObject } from '../../../src/plugin.ts'
import { isObject, getErrorMessage, RPC, RpcPeer } from '../../../src/plugin.ts'
import type { FailureKind } from '../types.ts'
import { AgentFailure } from '../types.ts'

/** ACP error codes (schema v1, ErrorCode); some have another meaning in MCP. */
export const CODES = {
  invalidParams: RPC.invalidParams,
  methodNotFound: RPC.methodNotFound,
  internal: RPC.internal,
  cancelled: -32800,
  /** Same number as an MCP code, with another meaning. */
  authRequired: RPC.legacyBadRequest,
} as const

const MAX_MESSAGE = 2048
const MAX_CAUSE = 1000
const MAX_DEPTH = 4
const CAUSE_KEYS = ['details', 'detail', 'message', 'error', 'cause', 'reason']

/** HTTP statuses that some agents use as error codes. */
const TOO_MANY = 429
const UNAUTHORIZED = 401

/** Members that hold an HTTP status or error name in errors from provider SDKs. Prose is never matched. */
const LIMIT_MEMBER =
  /"(status|statusCode|status_code|httpStatus|http_status|code|type|reason)":"?(429|resource_exhausted|rate_?limit(ed|error|_error|_exceeded)?|too_many_requests|quota_exceeded|insufficient_quota|usage_?limit_?(reached|exceeded))"?[,}]|"@type":"[^"]*\.QuotaFailure"/i
/** Matches HTTP status 429 in a text. */
const LIMIT_STATUS = /(^|\b(status|error|code|http)( code)?[ :=]{1,3})429\b/i

/** Converts a failed request to an agent failure. */
export function toAgentFailure(thrown: unknown, agent: string, phase: string): AgentFailure {
  if (thrown instanceof AgentFailure) return thrown
  if (!(thrown instanceof RpcFault))
    return new AgentFailure('protocol', phase, `agent "${agent}": ${getErrorMessage(thrown)}`)
  const { code, message, data } = thrown
  const cause = extractDetails(data)?.slice(0, MAX_CAUSE)
  const more = cause === undefined || message.includes(cause) ? '' : `: ${cause}`
  const [kind, description] = classifyRpcError(code, data, cause)
  return new AgentFailure(kind, phase, `agent "${agent}" ${description} in ${phase}: ${message} (${code})${more}`)
}

function classifyRpcError(code: number, data: unknown, cause: string | undefined): [FailureKind, string] {
  if (code === TOO_MANY || isLimitError(data, cause)) return ['limit', 'reached a limit']
  if (code === CODES.authRequired || code === UNAUTHORIZED) return ['auth', 'wants a login']
  return ['refused', 'returned an error']
}

/** Extracts error details, because the message is often only "Internal error". */
function extractDetails(data: unknown, depth = 0): string | undefined {
  if (typeof data === 'string') return data.trim() === '' ? undefined : data
  if (depth > MAX_DEPTH || !isObject(data)) return undefined
  return CAUSE_KEYS.map(key => extractDetails(data[key], depth + 1)).find(text => text !== undefined)
}

/** Detects a provider's rate limit error, also if its SDK embedded it in a text as JSON. */
function isLimitError(data: unknown, cause = ''): boolean {
  const json = (JSON.stringify(data) ?? '').slice(0, MAX_DATA).replace(/\\+"/g, '"').replaceAll('": ', '":')
  return LIMIT_STATUS.test(cause) || LIMIT_MEMBER.test(json)
}

const MAX_DATA = 64 * 1024

/** A JSON-RPC error, received or to be sent. */
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

/** Parses a peer's error in any shape. */
function parseFault(error: unknown): RpcFault {
  const { code, message, data } = isObject(error) ? error : ({} as JsonObject)
  const text = typeof message === 'string' ? message.slice(0, MAX_MESSAGE) : 'error without message'
  return new RpcFault(typeof code === 'number' ? code : CODES.internal, text, data)
}

/** Hides internal details of unexpected errors. */
function toRpcError(thrown: unknown): { code: number; message: string } {
  if (thrown instanceof RpcFault) return { code: thrown.code, message: thrown.message }
  return { code: CODES.internal, message: 'Internal error' }
}

/** Output for lines. `send` returns false if too much is queued. */
interface AgentLineWriter {
  send(line: string): boolean
  reply(line: string): void
}

/** Handles incoming messages. */
interface RpcHandler {
  /**
   * Handles a request. `signal` is aborted when the peer cancels it. A thrown error with a `code` becomes the
   * response.
   */
  request(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject>
  notification(method: string, params: JsonObject): void
}

type Id = string | number
interface PendingRequest {
  readonly done: (result: unknown) => void
  readonly failed: (error: RpcFault | Error) => void
}

/** Limits on pending requests per direction. */
const BOUNDS = { sent: 1024, received: 256 }

/** Bidirectional JSON-RPC 2.0 over lines, with bounded queues. */
export class RpcConnection {
  readonly #writer: AgentLineWriter
  readonly #handler: RpcHandler
  readonly #requests = new RpcPeer<PendingRequest, AbortController>(BOUNDS)
  #abortReason: Error | undefined

  constructor(writer: AgentLineWriter, handler: RpcHandler) {
    this.#writer = writer
    this.#handler = handler
  }

  /**
   * Resolves with the peer's result. @throws RpcFault for an error response, the error passed to `abort`, or an Error
   * if the limit is reached
   */
  requestAgent(method: string, params: JsonObject): Promise<unknown> {
    if (this.#abortReason !== undefined) return Promise.reject(this.#abortReason)
    return new Promise((done, failed) => {
      const id = this.#requests.nextId()
      if (!this.#requests.addSent(id, { done, failed })) return failed(new Error('too many pending requests'))
      if (this.#writer.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))) return
      this.#requests.takeSent(id)
      failed(new Error('the agent does not read its input'))
    })
  }

  notify(method: string, params: JsonObject): void {
    if (this.#abortReason === undefined) this.#writer.reply(JSON.stringify({ jsonrpc: '2.0', method, params }))
  }

  /** Fails all pending requests. */
  abort(error: Error): void {
    if (this.#abortReason !== undefined) return
    this.#abortReason = error
    const { sent, received } = this.#requests.clear()
    for (const { failed } of sent) failed(error)
    for (const request of received) request.abort()
  }

  /** Handles one received line. */
  receive(line: Buffer): void {
    if (this.#abortReason !== undefined || line.length === 0) return
    const message = parseLine(line)
    if (message === undefined) return
    const { id, method, params } = message
    if (typeof method !== 'string') return this.#settle(message)
    const input = isObject(params) ? params : {}
    if (isId(id)) void this.#answerRequest(id, method, input)
    else if (method === '$/cancel_request') this.#requests.takeReceived(input.requestId)?.abort()
    else this.#handler.notification(method, input)
  }

  #settle({ id, result, error }: JsonObject): void {
    const waiting = this.#requests.takeSent(id)
    if (error === undefined) waiting?.done(result)
    else waiting?.failed(parseFault(error))
  }

  async #answerRequest(id: Id, method: string, params: JsonObject): Promise<void> {
    const request = new AbortController()
    if (this.#requests.addReceived(id, request) !== 'taken')
      return this.#sendReply(id, { error: { code: CODES.internal, message: 'Too many concurrent requests' } })
    const cancelled = new Promise<JsonObject>(resolve => {
      request.signal.addEventListener('abort', () => resolve(CANCELLED), { once: true })
    })
    const answer = await Promise.race([this.#handleRequest(method, params, request.signal), cancelled])
    this.#requests.settleReceived(id, request)
    this.#sendReply(id, answer)
  }

  async #handleRequest(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    try {
      return { result: await this.#handler.request(method, params, signal) }
    } catch (error) {
      return { error: toRpcError(error) }
    }
  }

  #sendReply(id: Id, answer: JsonObject): void {
    if (this.#abortReason === undefined) this.#writer.reply(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  }
}

const CANCELLED = { error: { code: CODES.cancelled, message: 'Request cancelled' } }

function isId(value: unknown): value is Id {
  return typeof value === 'string' || typeof value === 'number'
}

function parseLine(line: Buffer): JsonObject | undefined {
  try {
    const message: unknown = JSON.parse(line.toString('utf8'))
    return isObject(message) ? message : undefined
  } catch {
    return undefined
  }
}
