import type { ServerResponse } from 'node:http'
import type { RpcError } from '../../core/ports.ts'
import { encodeError, type RpcId } from '../../protocol/jsonrpc.ts'
import { HEADER } from '../../protocol/names.ts'
import type { Accepts, Refusal } from '../guard-http.ts'
import type { SseStream, SseStreams } from '../sse-write.ts'

/** Bodies above this are not worth a copy. */
const MAX_TEXT = 32 * 1024

/** Where one request's messages go: ahead of its answer, then the answer. */
export interface Sink {
  event(message: string): void
  finish(status: number, message: Buffer | string): void
}

/** One HTTP response that becomes JSON or an event stream as the call needs: decided by its first message. */
export class Reply implements Sink {
  /** Sent with the response, for the client to come back with. */
  sessionId: string | undefined
  readonly accepts: Accepts
  readonly #response: ServerResponse
  readonly #streams: SseStreams
  #stream: SseStream | undefined

  constructor(response: ServerResponse, accepts: Accepts, streams: SseStreams) {
    this.#response = response
    this.accepts = accepts
    this.#streams = streams
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

  event(message: Buffer | string): void {
    // A client that takes no events misses what was said on the way, and still gets its answer.
    if (this.isOpen && this.accepts.events) this.#open().send(message)
  }

  finish(status: number, message: Buffer | string): void {
    if (!this.isOpen) return
    const asEvent = this.#stream !== undefined || (status === 200 && !this.accepts.json)
    if (asEvent) this.#open().end(message)
    else sendJson(this.#response, status, message, this.#headers())
  }

  /** Ends without a message: everything has been said. */
  end(): void {
    this.#stream?.end()
  }

  refuse(refusal: Refusal, id: RpcId | null = null): void {
    if (this.isOpen) sendRefusal(this.#response, refusal, id)
  }

  error(status: number, error: RpcError, id: RpcId | null): void {
    this.finish(status, encodeError(id, error))
  }

  /** Nothing to say but that it arrived. */
  accepted(): void {
    if (this.isOpen) sendNothing(this.#response, 202)
  }

  #open(): SseStream {
    this.#stream ??= this.#streams.open(this.#response, this.#headers())
    return this.#stream
  }

  #headers(): Record<string, string> | undefined {
    return this.sessionId === undefined ? undefined : { [HEADER.session]: this.sessionId }
  }
}

export function sendJson(
  response: ServerResponse,
  status: number,
  body: Buffer | string,
  headers?: Readonly<Record<string, string>>,
): void {
  const length = typeof body === 'string' ? Buffer.byteLength(body) : body.length
  const own = { 'content-type': 'application/json', 'content-length': length, 'cache-control': 'no-store' }
  response.writeHead(status, headers === undefined ? own : { ...own, ...headers })
  // Head and body leave in one write where both are text; latin1 keeps the bytes as they are.
  if (typeof body !== 'string' && length <= MAX_TEXT) response.end(body.toString('latin1'), 'latin1')
  else response.end(body)
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
