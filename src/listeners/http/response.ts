import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RpcError, Refusal } from '../../api/index.ts'
import type { RpcId } from '../../protocol/jsonrpc.ts'
import { encodeError } from '../../protocol/jsonrpc.ts'
import { HEADER } from '../../protocol/methods.ts'
import type { MemoryBudget, MemoryShare } from '../../net/backlog.ts'
import { UNCOUNTED_BYTES, createHold } from '../../net/backlog.ts'
import type { EncodedMessage } from '../../util/messages.ts'
import { ByteText, joinPieces, getByteLength } from '../../util/messages.ts'
import type { ResponseWriter } from '../client/inbound-request.ts'
import { rpcError, RPC } from '../../protocol/rpc-error.ts'
import type { EventStreamWriter, SseStream, SseStreams } from './sse-writer.ts'

/** Bodies above this are not copied. */
const MAX_TEXT = 32 * 1024

/** Makes streams resumable. */
export interface StreamRecorder {
  /** True if streams begin with an event id. */
  readonly isPrimed: boolean
  makeResumable(stream: SseStream): EventStreamWriter
}

interface ResponseContext {
  readonly memory: MemoryBudget
  readonly streams: SseStreams
}

export interface Accepts {
  readonly json: boolean
  readonly events: boolean
}

const ANYTHING: Accepts = Object.freeze({ json: true, events: true })

export function parseAccept(accept: string | undefined): Accepts {
  if (accept === undefined || accept.includes('*/*')) return ANYTHING
  const types = accept.toLowerCase()
  return {
    json: types.includes('application/json') || types.includes('application/*'),
    events: types.includes('text/event-stream') || types.includes('text/*'),
  }
}

/** Refuses a client that accepts neither form. */
export function checkAccept(accepts: Accepts): Refusal | undefined {
  if (accepts.json || accepts.events) return undefined
  return createRefusal(406, 'Not acceptable: accept application/json or text/event-stream')
}

/** One HTTP response. Its first message decides between JSON and an event stream. */
export class HttpReply implements ResponseWriter {
  readonly isShared = false
  /** Sent in the `Mcp-Session-Id` header. */
  sessionId: string | undefined
  /** Makes the stream resumable. */
  recorder: StreamRecorder | undefined
  /** The request being answered, if any. */
  request: RpcId | undefined
  readonly accepts: Accepts
  readonly #response: ServerResponse
  readonly #context: ResponseContext
  #stream: EventStreamWriter | undefined
  #onLost: (() => void)[] | undefined

  constructor(response: ServerResponse, accepts: Accepts, context: ResponseContext) {
    this.#response = response
    this.accepts = accepts
    this.#context = context
  }

  get isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded
  }

  /** Calls `listener` if the client disconnects before the answer. */
  onDisconnect(listener: () => void): void {
    this.#response.on('close', () => {
      if (!this.#response.writableFinished) listener()
    })
  }

  onLost(listener: () => void): void {
    if (this.#onLost === undefined) {
      this.#onLost = []
      this.onDisconnect(() => this.#notifyLost())
    }
    this.#onLost.push(listener)
  }

  #notifyLost(): void {
    if (this.#stream?.isResumable !== true) for (const listener of this.#onLost ?? []) listener()
  }

  /** False for a client that does not accept events; it gets only the answer. */
  get canStream(): boolean {
    return this.#stream !== undefined || (this.isOpen && this.accepts.events)
  }

  /** Counts bytes waiting for this response. */
  hold(): MemoryShare {
    return createHold(this.#response, this.#context.memory)
  }

  prime(): void {
    if (this.recorder?.isPrimed === true && this.canStream) this.#open()
  }

  notify(message: string): void {
    if (this.canStream) this.#open().notify(message)
  }

  send(message: Buffer | string): boolean {
    return this.canStream && this.#open().send(message)
  }

  finish(status: number, message: EncodedMessage, headers?: Readonly<Record<string, string>>): void {
    if (this.#stream !== undefined) return this.#stream.end(joinPieces(message))
    if (!this.isOpen) return
    if (status === 200 && !this.accepts.json) this.#open().end(joinPieces(message))
    else {
      const length = getByteLength(message)
      if (length > UNCOUNTED_BYTES) this.hold().set(length)
      sendJson(this.#response, status, message, this.#headers(headers))
    }
  }

  refuse(refusal: Refusal, id: RpcId | null = null): void {
    if (this.isOpen) sendRefusal(this.#response, refusal, id)
  }

  sendError(status: number, error: RpcError, id: RpcId | null): void {
    this.finish(status, encodeError(id, error))
  }

  sendAccepted(): void {
    if (this.isOpen) sendNothing(this.#response, 202)
  }

  #open(): EventStreamWriter {
    if (this.#stream === undefined) {
      const stream = this.#context.streams.open(this.#response, this.#headers())
      this.#stream = this.recorder?.makeResumable(stream) ?? stream
    }
    return this.#stream
  }

  #headers(more?: Readonly<Record<string, string>>): Readonly<Record<string, string>> | undefined {
    return this.sessionId === undefined ? more : { ...more, [HEADER.session]: this.sessionId }
  }
}

const JSON_HEADERS = { 'content-type': 'application/json', 'cache-control': 'no-store' }

function createHeaderList(length: number): string[] {
  return ['content-type', 'application/json', 'content-length', String(length), 'cache-control', 'no-store']
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: EncodedMessage,
  headers?: Readonly<Record<string, string>>,
): void {
  const length = getByteLength(body)
  // A flat list is neither copied nor validated twice by Node.
  if (headers === undefined) response.writeHead(status, createHeaderList(length))
  else response.writeHead(status, { ...JSON_HEADERS, 'content-length': length, ...headers })
  // Sends head and body in one write if both are text; latin1 preserves the bytes.
  if (body instanceof ByteText) response.end(body.text, 'latin1')
  else if (Buffer.isBuffer(body) && length <= MAX_TEXT) response.end(body.toString('latin1'), 'latin1')
  else if (typeof body === 'string' || Buffer.isBuffer(body)) response.end(body)
  else endWithPieces(response, body)
}

/** Sends head and pieces in one write. */
function endWithPieces(response: ServerResponse, pieces: readonly Buffer[]): void {
  response.cork()
  for (const piece of pieces) response.write(piece)
  response.end()
  response.uncork()
}

export function createRefusal(status: number, message: string, code: number = RPC.invalidRequest): Refusal {
  return { status, error: rpcError(code, message) }
}

export function sendRefusal(response: ServerResponse, refusal: Refusal, id: RpcId | null = null): void {
  sendJson(response, refusal.status, encodeError(id, refusal.error), refusal.headers)
}

export function sendNothing(
  response: ServerResponse,
  status: number,
  headers?: Readonly<Record<string, string>>,
): void {
  const own = status === 204 ? { 'cache-control': 'no-store' } : { 'content-length': '0', 'cache-control': 'no-store' }
  response.writeHead(status, headers === undefined ? own : { ...own, ...headers })
  response.end()
}

/** Creates a response for a request outside Node's server. Loads `node:http` lazily. */
export function createResponse(request: IncomingMessage): ServerResponse {
  return new (process.getBuiltinModule('node:http').ServerResponse)(request)
}
