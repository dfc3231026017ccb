import type { JsonObject } from '../../../src/plugin.ts'
import { isObject, getErrorMessage, RPC, RpcPeer } from '../../../src/plugin.ts'
import type { FailureKind } from '../types.ts'
import { AgentFailure } from '../types.ts'

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
const MAX_CAUSE = 1000
const MAX_DEPTH = 4
const CAUSE_KEYS = ['details', 'detail', 'message', 'error', 'cause', 'reason']

/** HTTP statuses that some agents use as codes. */
const TOO_MANY = 429
const UNAUTHORIZED = 401

/** A member that holds an HTTP status or the name of an error, as SDKs of model providers write them. Prose never counts. */
const LIMIT_MEMBER =
  /"(status|statusCode|status_code|httpStatus|http_status|code|type|reason)":"?(429|resource_exhausted|rate_?limit(ed|error|_error|_exceeded)?|too_many_requests|quota_exceeded|insufficient_quota|usage_?limit_?(reached|exceeded))"?[,}]|"@type":"[^"]*\.QuotaFailure"/i
/** The HTTP status in front of a text. */
const LIMIT_STATUS = /(^|\b(status|error|code|http)( code)?[ :=]{1,3})429\b/i

/** Why a request to an agent failed, as a failure of the agent. */
export function failureOf(thrown: unknown, agent: string, phase: string): AgentFailure {
  if (thrown instanceof AgentFailure) return thrown
  if (!(thrown instanceof RpcFault))
    return new AgentFailure('protocol', phase, `agent "${agent}": ${getErrorMessage(thrown)}`)
  const { code, message, data } = thrown
  const cause = textIn(data)?.slice(0, MAX_CAUSE)
  const more = cause === undefined || message.includes(cause) ? '' : `: ${cause}`
  const [kind, what] = classify(code, data, cause)
  return new AgentFailure(kind, phase, `agent "${agent}" ${what} in ${phase}: ${message} (${code})${more}`)
}

function classify(code: number, data: unknown, cause: string | undefined): [FailureKind, string] {
  if (code === TOO_MANY || saysLimit(data, cause)) return ['limit', 'has reached a limit']
  if (code === CODES.authRequired || code === UNAUTHORIZED) return ['auth', 'wants a login']
  return ['refused', 'answered with an error']
}

/** Details of an error beside its message, which is often no more than "Internal error". */
function textIn(data: unknown, depth = 0): string | undefined {
  if (typeof data === 'string') return data.trim() === '' ? undefined : data
  if (depth > MAX_DEPTH || !isObject(data)) return undefined
  return CAUSE_KEYS.map(key => textIn(data[key], depth + 1)).find(text => text !== undefined)
}

/** The error of a provider, also where its SDK wrote it into a text as JSON. */
function saysLimit(data: unknown, cause = ''): boolean {
  const json = (JSON.stringify(data) ?? '').slice(0, MAX_DATA).replace(/\\+"/g, '"').replaceAll('": ', '":')
  return LIMIT_STATUS.test(cause) || LIMIT_MEMBER.test(json)
}

const MAX_DATA = 64 * 1024

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
function faultFrom(error: unknown): RpcFault {
  const { code, message, data } = isObject(error) ? error : ({} as JsonObject)
  const text = typeof message === 'string' ? message.slice(0, MAX_MESSAGE) : 'an error without words'
  return new RpcFault(typeof code === 'number' ? code : CODES.internal, text, data)
}

/** Error that is answered when a handler of ours has thrown: no internals of ours. */
function errorOf(thrown: unknown): { code: number; message: string } {
  if (thrown instanceof RpcFault) return { code: thrown.code, message: thrown.message }
  return { code: CODES.internal, message: 'Internal error' }
}

/** The way out for lines. `send` says false when too much waits there. */
interface LineWriter {
  send(line: string): boolean
  reply(line: string): void
}

/** The other side of a connection within the gateway. */
interface ConnectionSide {
  /** A request of the peer. `signal` is aborted when the peer cancels it. A thrown error with a `code` is answered with it. */
  request(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject>
  notification(method: string, params: JsonObject): void
  /** The peer is beyond repair. */
  broken(why: string): void
}

type Id = string | number
interface PendingRequest {
  readonly done: (result: unknown) => void
  readonly failed: (why: RpcFault | Error) => void
}

/** Requests that may wait for an answer: ours, and those of the peer. */
const BOUNDS = { sent: 1024, received: 256 }
/** Lines in a row that are no message. */
const MAX_JUNK = 1000

/** JSON-RPC 2.0 over lines, both ways, with a bound on everything. Each direction has ids of its own. */
export class Connection {
  readonly #writer: LineWriter
  readonly #side: ConnectionSide
  readonly #requests = new RpcPeer<PendingRequest, AbortController>(BOUNDS)
  #ended: Error | undefined
  #junkInRow = 0

  constructor(writer: LineWriter, side: ConnectionSide) {
    this.#writer = writer
    this.#side = side
  }

  /**
   * Resolves with whatever the peer answers. @throws RpcFault with what it answers instead, the error given to `end`,
   * and an Error when there is no room
   */
  request(method: string, params: JsonObject): Promise<unknown> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended)
    return new Promise((done, failed) => {
      const id = this.#requests.nextId()
      if (!this.#requests.send(id, { done, failed }))
        return failed(new Error('too many requests wait for it'))
      if (this.#writer.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))) return
      this.#requests.answered(id)
      failed(new Error('it does not read what it is sent'))
    })
  }

  notify(method: string, params: JsonObject): void {
    if (this.#ended === undefined) this.#writer.reply(JSON.stringify({ jsonrpc: '2.0', method, params }))
  }

  /** Nothing comes any more: what waits fails with this. */
  end(why: Error): void {
    if (this.#ended !== undefined) return
    this.#ended = why
    const { sent, received } = this.#requests.end()
    for (const { failed } of sent) failed(why)
    for (const request of received) request.abort()
  }

  /** One line that the peer wrote. */
  receive(line: Buffer): void {
    if (this.#ended !== undefined || line.length === 0) return
    const message = parsed(line)
    if (message === undefined) return this.#countJunk()
    this.#junkInRow = 0
    const { id, method, params } = message
    if (typeof method !== 'string') return this.#settle(message)
    const given = isObject(params) ? params : {}
    if (isId(id)) void this.#answer(id, method, given)
    else if (method === '$/cancel_request') this.#requests.cancelled(given.requestId)?.abort()
    else this.#side.notification(method, given)
  }

  #countJunk(): void {
    if (++this.#junkInRow > MAX_JUNK) this.#side.broken(`it wrote ${MAX_JUNK} lines that are no message`)
  }

  #settle({ id, result, error }: JsonObject): void {
    const waiting = this.#requests.answered(id)
    if (error === undefined) waiting?.done(result)
    else waiting?.failed(faultFrom(error))
  }

  async #answer(id: Id, method: string, params: JsonObject): Promise<void> {
    const request = new AbortController()
    if (this.#requests.receive(id, request) !== 'taken')
      return this.#reply(id, { error: { code: CODES.internal, message: 'Too many requests at a time' } })
    const cancelled = new Promise<JsonObject>(resolve => {
      request.signal.addEventListener('abort', () => resolve(CANCELLED), { once: true })
    })
    const answer = await Promise.race([this.#perform(method, params, request.signal), cancelled])
    this.#requests.answers(id, request)
    this.#reply(id, answer)
  }

  async #perform(method: string, params: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    try {
      return { result: await this.#side.request(method, params, signal) }
    } catch (error) {
      return { error: errorOf(error) }
    }
  }

  #reply(id: Id, answer: JsonObject): void {
    if (this.#ended === undefined) this.#writer.reply(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  }
}

const CANCELLED = { error: { code: CODES.cancelled, message: 'Request cancelled' } }

function isId(value: unknown): value is Id {
  return typeof value === 'string' || typeof value === 'number'
}

function parsed(line: Buffer): JsonObject | undefined {
  try {
    const message: unknown = JSON.parse(line.toString('utf8'))
    return isObject(message) ? message : undefined
  } catch {
    return undefined
  }
}
