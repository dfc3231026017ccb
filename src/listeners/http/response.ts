import type { IncomingMessage, ServerResponse } from 'node:http'
import type { RpcError } from '../../api/index.ts'
import { type RpcId, encodeError } from '../../protocol/jsonrpc.ts'
import { type HeldBytes, type Hold, SMALL } from '../../transport/backlog.ts'
import { ByteText, type Written, inOnePiece, lengthOf } from '../../util/written.ts'
import { HEADER } from '../../protocol/methods.ts'
import type { ResponseWriter } from '../client/inbound-request.ts'
import type { Accepts, Refusal } from './request-guard.ts'
import { type EventStream, holdFor, type SseStream, type SseStreams } from './sse-writer.ts'

/** Bodies above this are not worth a copy. */
const MAX_TEXT = 32 * 1024

/** Makes a stream one that its reader can come back to. */
export interface StreamRecorder {
  /** True if streams begin with an id. */
  readonly isPrimed: boolean
  /** `request` is the one whose answer ends it, where it is one. */
  keep(stream: SseStream): EventStream
}

/** State of the listener that a response needs. */
interface ResponseContext {
  readonly held: HeldBytes
  readonly streams: SseStreams
}

/** One HTTP response that becomes JSON or an event stream as the call needs: decided by its first message. */
export class Reply implements ResponseWriter {
  readonly isShared = false
  /** Sent with the response, for the client to come back with. */
  sessionId: string | undefined
  /** Keeps what is streamed, for a client that comes back. */
  recorder: StreamRecorder | undefined
  /** Request that is answered, where it is one. */
  request: RpcId | undefined
  readonly accepts: Accepts
  readonly #response: ServerResponse
  readonly #context: ResponseContext
  #stream: EventStream | undefined
  #onLost: (() => void)[] | undefined

  constructor(response: ServerResponse, accepts: Accepts, context: ResponseContext) {
    this.#response = response
    this.accepts = accepts
    this.#context = context
  }

  get isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded
  }

  /** Runs when the client goes away before its answer. */
  onGone(listener: () => void): void {
    this.#response.on('close', () => {
      if (!this.#response.writableFinished) listener()
    })
  }

  onLost(listener: () => void): void {
    if (this.#onLost === undefined) {
      this.#onLost = []
      this.onGone(() => this.#lost())
    }
    this.#onLost.push(listener)
  }

  #lost(): void {
    if (this.#stream?.isKept !== true) for (const listener of this.#onLost ?? []) listener()
  }

  /** False for a client that takes no events: it misses what goes ahead of its answer, and still gets that. */
  get canStream(): boolean {
    return this.#stream !== undefined || (this.isOpen && this.accepts.events)
  }

  /** Counts what waits for this response. */
  hold(): Hold {
    return holdFor(this.#response, this.#context.held)
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

  finish(status: number, message: Written, headers?: Readonly<Record<string, string>>): void {
    if (this.#stream !== undefined) return this.#stream.end(inOnePiece(message))
    if (!this.isOpen) return
    if (status === 200 && !this.accepts.json) this.#open().end(inOnePiece(message))
    else {
      const length = lengthOf(message)
      if (length > SMALL) this.hold().set(length)
      sendJson(this.#response, status, message, this.#headers(headers))
    }
  }

  refuse(refusal: Refusal, id: RpcId | null = null): void {
    if (this.isOpen) sendRefusal(this.#response, refusal, id)
  }

  error(status: number, error: RpcError, id: RpcId | null): void {
    this.finish(status, encodeError(id, error))
  }

  /** Answers that the message has arrived, and nothing else. */
  accepted(): void {
    if (this.isOpen) sendNothing(this.#response, 202)
  }

  #open(): EventStream {
    if (this.#stream === undefined) {
      const stream = this.#context.streams.open(this.#response, this.#headers())
      this.#stream = this.recorder?.keep(stream) ?? stream
    }
    return this.#stream
  }

  #headers(more?: Readonly<Record<string, string>>): Readonly<Record<string, string>> | undefined {
    return this.sessionId === undefined ? more : { ...more, [HEADER.session]: this.sessionId }
  }
}

const OF_JSON = { 'content-type': 'application/json', 'cache-control': 'no-store' }

function listOf(length: number): string[] {
  return ['content-type', 'application/json', 'content-length', String(length), 'cache-control', 'no-store']
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: Written,
  headers?: Readonly<Record<string, string>>,
): void {
  const length = lengthOf(body)
  // As a list, which Node neither copies nor looks through twice.
  if (headers === undefined) response.writeHead(status, listOf(length))
  else response.writeHead(status, { ...OF_JSON, 'content-length': length, ...headers })
  // Head and body leave in one write where both are text; latin1 keeps the bytes as they are.
  if (body instanceof ByteText) response.end(body.text, 'latin1')
  else if (Buffer.isBuffer(body) && length <= MAX_TEXT) response.end(body.toString('latin1'), 'latin1')
  else if (typeof body === 'string' || Buffer.isBuffer(body)) response.end(body)
  else endWith(response, body)
}

/** Head and all pieces leave in one write. */
function endWith(response: ServerResponse, pieces: readonly Buffer[]): void {
  response.cork()
  for (const piece of pieces) response.write(piece)
  response.end()
  response.uncork()
}

export function sendRefusal(response: ServerResponse, refusal: Refusal, id: RpcId | null = null): void {
  sendJson(response, refusal.status, encodeError(id, refusal.error), refusal.headers)
}

export function sendNothing(
  response: ServerResponse,
  status: number,
  headers?: Readonly<Record<string, string>>,
): void {
  const own =
    status === 204 ? { 'cache-control': 'no-store' } : { 'content-length': '0', 'cache-control': 'no-store' }
  response.writeHead(status, headers === undefined ? own : { ...own, ...headers })
  response.end()
}

/** Makes the response to a request that no server of Node's has answered. Its module is loaded when it is needed. */
export function responseTo(request: IncomingMessage): ServerResponse {
  return new (process.getBuiltinModule('node:http').ServerResponse)(request)
}
