import type { ParserCallbacks } from 'eventsource-parser'
import { createParser } from 'eventsource-parser'
import { gatewayError } from '../../errors/errors.ts'
import type { RequestControl, ReplyHandler, ReplyHeaders } from '../../net/http-client-types.ts'
import { isObjectText } from '../../protocol/jsonrpc.ts'
import type { MemoryBudget } from '../../net/backlog.ts'
import { MemoryShare } from '../../net/backlog.ts'
import type { PendingRequest, TransportEvents } from '../transport.ts'
import type { HttpErrorReply } from './http-failures.ts'
import {
  createBrokenError,
  MAX_REFUSAL_BYTES,
  createLocalRefusal,
  parseRetryAfter,
  MAX_SHOWN_BYTES,
  createStatusError,
  describeUnreachable,
} from './http-failures.ts'

interface BodyReader {
  /** Reads a chunk, whose buffer the sender reuses; returns false if the body exceeds its limit. */
  push(chunk: Buffer): boolean
  end(): void
  /** Buffered bytes. */
  readonly bufferedBytes: number
}

/** Collects a whole body. */
export class WholeBody implements BodyReader {
  bufferedBytes = 0
  readonly #limit: number
  readonly #done: (text: Buffer) => void
  #memory: Buffer

  /** `length` is the Content-Length or NaN; a single allocation halves the cost. */
  constructor(limit: number, done: (text: Buffer) => void, length = NaN) {
    this.#limit = limit
    this.#done = done
    this.#memory = Buffer.allocUnsafe(length <= limit ? length : 0)
  }

  push(chunk: Buffer): boolean {
    const length = this.bufferedBytes + chunk.length
    if (length > this.#limit) return false
    if (length > this.#memory.length) {
      const memory = Buffer.allocUnsafe(Math.max(length, 2 * this.bufferedBytes))
      this.#memory.copy(memory, 0, 0, this.bufferedBytes)
      this.#memory = memory
    }
    chunk.copy(this.#memory, this.bufferedBytes)
    this.bufferedBytes = length
    return true
  }

  end(): void {
    this.#done(this.#memory.subarray(0, this.bufferedBytes))
  }
}

/** Position at which an event stream can be resumed. */
export interface StreamPosition {
  /** Last event id. */
  eventId: string | undefined
  /** Reconnection delay set by the server, in milliseconds. */
  retryMs: number | undefined
  /** Events on this connection. */
  events: number
  /** Consecutive connections without events. */
  emptyConnections: number
}

export function createStreamPosition(): StreamPosition {
  return { eventId: undefined, retryMs: undefined, events: 0, emptyConnections: 0 }
}

/** Returns a function that parses server-sent events chunk by chunk. */
export function createEventReader(callbacks: ParserCallbacks & { maxBufferSize: number }): (chunk: Buffer) => void {
  const parser = createParser(callbacks)
  let isAfterCr = false
  return chunk => {
    // The stream structure is ASCII: decoding as Latin-1 preserves the data bytes.
    const text = chunk.toString('latin1')
    const begin = isAfterCr && text.startsWith('\n') ? 1 : 0
    isAfterCr = text.endsWith('\r') || (isAfterCr && text === '')
    // The parser waits for the character after a CR, so that the last event would never arrive.
    parser.feed(text.includes('\r') ? text.slice(begin).replace(/\r\n?/g, '\n') : text.slice(begin))
  }
}

/** Server-sent events, each with one message. */
export class EventBody implements BodyReader {
  readonly position: StreamPosition
  readonly #read: (chunk: Buffer) => void
  #isTooLarge = false
  /** Bytes since the last event. */
  bufferedBytes = 0

  constructor(limit: number, position: StreamPosition, message: (text: Buffer) => void) {
    this.position = position
    this.#read = createEventReader({
      maxBufferSize: limit,
      onEvent: ({ id, event, data }) => {
        this.bufferedBytes = 0
        position.events++
        if (id !== undefined && id !== '') position.eventId = id
        if (data !== '' && (event === undefined || event === 'message')) message(Buffer.from(data, 'latin1'))
      },
      onRetry: ms => {
        position.retryMs = ms
      },
      onError: error => {
        if (error.type === 'max-buffer-size-exceeded') this.#isTooLarge = true
      },
    })
  }

  push(chunk: Buffer): boolean {
    this.bufferedBytes += chunk.length
    if (!this.#isTooLarge) this.#read(chunk)
    return !this.#isTooLarge
  }

  end(): void {
    // An event without a final blank line is incomplete.
  }
}

/** Longest receipt body to read, so that its connection can be reused. */
const MAX_RECEIPT_BYTES = 64 * 1024

export interface ResponseReaderDeps {
  readonly upstream: string
  readonly maxReply: number
  readonly events: TransportEvents
  /** Budget for partially read replies. */
  readonly memory: MemoryBudget
  /** Runs `callback` later; returns a function that cancels it. */
  after(ms: number, callback: () => void): () => void
  /** The server answered a request with these headers. */
  greeted(method: string, headers: ReplyHeaders): void
  /** True if an error status reports an unknown session. */
  isSessionLost(method: string, status: number, body: string): boolean
  /** Resumes a stream that closed early; returns false if it cannot be resumed. */
  resume(pending: PendingRequest, position: StreamPosition): boolean
  /** The server is unreachable. */
  lost(reason: string): void
}

/** Time that a stream may stay open after its answer. */
const MAX_TAIL_MS = 1000

/** Reads the reply to one request: JSON, or an event stream that ends with the answer. */
export class ResponseReader implements ReplyHandler {
  readonly #host: ResponseReaderDeps
  readonly #pending: PendingRequest
  readonly #position: StreamPosition
  #control: RequestControl | undefined
  #body: BodyReader | undefined
  readonly #hold: MemoryShare
  #status = 0
  #refusal: Pick<HttpErrorReply, 'challenge' | 'retryAfterMs' | 'location'> = {}
  #isAborted = false
  #cancelCut: (() => void) | undefined

  constructor(host: ResponseReaderDeps, pending: PendingRequest, position: StreamPosition = createStreamPosition()) {
    this.#host = host
    this.#pending = pending
    this.#position = position
    this.#hold = new MemoryShare(host.memory)
    pending.httpRequest = this
  }

  abort(): void {
    this.#isAborted = true
    this.#hold.release()
    this.#control?.abort(this, new Error('reply not needed'))
  }

  onSend(control: RequestControl): void {
    this.#control = control
    if (!this.#pending.open) this.abort()
  }

  onHead(status: number, headers: ReplyHeaders): void {
    this.#status = status
    const isFine = status < 300
    const limit = isFine ? this.#host.maxReply : MAX_REFUSAL_BYTES
    const length = Number(headers['content-length'])
    if (isFine && length > limit) return this.#handleTooLarge()
    if (isEncoded(headers))
      return this.#failRequest(`unrequested compression of the reply (${String(headers['content-encoding'])})`)
    if (!isFine)
      this.#refusal = {
        challenge: getChallenge(headers),
        retryAfterMs: parseRetryAfter(headers),
        location: headers.location,
      }
    if (isFine) this.#host.greeted(this.#pending.method, headers)
    if (!isFine) this.#body = new WholeBody(limit, text => this.#handleRefusal(text))
    else if (isEventStream(headers))
      this.#body = new EventBody(limit, this.#position, text => this.#host.events.received(text, this.#pending))
    else this.#body = new WholeBody(limit, text => this.#scheduleCut(text), length)
  }

  onBody(bytes: Buffer): void {
    const body = this.#body
    if (body?.push(bytes) === false) {
      if (this.#status < 300) this.#handleTooLarge()
      else this.#handleRefusal(Buffer.alloc(0))
      return this.abort()
    }
    this.#hold.set(body?.bufferedBytes ?? 0)
    if (!this.#pending.open) this.#cancelCut ??= this.#host.after(MAX_TAIL_MS, () => this.abort())
  }

  onEnd(): void {
    this.#cancelCut?.()
    this.#body?.end()
    this.#hold.release()
    if (this.#pending.open && !this.#host.resume(this.#pending, this.#position))
      this.#handleBroken(new Error('the stream ended early'))
  }

  onError(error: Error): void {
    this.#cancelCut?.()
    this.#hold.release()
    if (this.#isAborted || !this.#pending.open) return
    if (this.#control === undefined) return this.#handleUnsent(error)
    const canResume = this.#body instanceof EventBody && this.#host.resume(this.#pending, this.#position)
    if (!canResume) this.#handleBroken(error)
  }

  #scheduleCut(text: Buffer): void {
    if (text.length > 0) this.#host.events.received(text, this.#pending)
    const { events, upstream } = this.#host
    if (this.#pending.open)
      events.failed(this.#pending, createStatusError(upstream, { status: this.#status, body: decodeBody(text) }))
  }

  #handleRefusal(text: Buffer): void {
    const { events, upstream } = this.#host
    const status = this.#status
    const body = decodeBody(text)
    if (this.#host.isSessionLost(this.#pending.method, status, body)) {
      const error = gatewayError('GW_UPSTREAM_CLOSED', {
        upstream,
        why: `session expired (HTTP ${status})`,
        sessionLost: true,
        // Rejected before it ran; a resumed request had been accepted.
        unheard: (status === 404 || status === 410) && this.#position.eventId === undefined,
      })
      return events.failed(this.#pending, error)
    }
    if (this.#acceptsErrorBody() && isObjectText(text)) events.received(text, this.#pending)
    if (this.#pending.open)
      events.failed(this.#pending, createStatusError(upstream, { status, body, ...this.#refusal }))
  }

  /**
   * True if a JSON-RPC error in the body counts. During a handshake, a failing proxy must not count as a server's
   * answer.
   */
  #acceptsErrorBody(): boolean {
    if (this.#status === 401 || this.#status === 403) return false
    return this.#pending.call !== undefined || this.#status < 500
  }

  #handleUnsent(error: Error): void {
    const { events, upstream } = this.#host
    const refusal = createLocalRefusal(upstream, error)
    if (refusal !== undefined) return events.failed(this.#pending, refusal)
    const why = describeUnreachable(error)
    events.failed(this.#pending, gatewayError('GW_UPSTREAM_DOWN', { upstream, why }))
    this.#host.lost(why)
  }

  #handleBroken(error: Error): void {
    this.#host.events.failed(this.#pending, createBrokenError(this.#host.upstream, error, this.#status > 0))
  }

  #handleTooLarge(): void {
    const { upstream, maxReply, events } = this.#host
    events.failed(
      this.#pending,
      gatewayError('GW_TOO_LARGE', { what: `a reply from upstream "${upstream}"`, limit: maxReply }),
    )
    this.abort()
  }

  #failRequest(why: string): void {
    const { upstream, events } = this.#host
    events.failed(this.#pending, gatewayError('GW_UPSTREAM_PROTOCOL', { upstream, why }))
    this.abort()
  }
}

export function isEventStream(headers: ReplyHeaders): boolean {
  return String(headers['content-type']).toLowerCase().startsWith('text/event-stream')
}

export function isEncoded(headers: ReplyHeaders): boolean {
  const encoding = headers['content-encoding']
  return encoding !== undefined && encoding !== '' && encoding !== 'identity'
}

function decodeBody(text: Buffer): string {
  return text.toString('utf8', 0, MAX_SHOWN_BYTES)
}

/** Returns the `WWW-Authenticate` header. */
export function getChallenge(headers: ReplyHeaders): string | undefined {
  return headers['www-authenticate']
}

/** Reads the reply to a message that needs none: a notification, a response, or a DELETE. */
export class ReceiptHandler implements ReplyHandler {
  readonly #done: () => void
  #size = 0

  constructor(done: () => void) {
    this.#done = done
  }

  onSend(): void {
    // A message without a reply cannot be cancelled.
  }

  onHead(): void {
    this.#done()
  }

  onBody(bytes: Buffer, control: RequestControl): void {
    this.#size += bytes.length
    if (this.#size > MAX_RECEIPT_BYTES) control.abort(this, new Error('body not needed'))
  }

  onEnd(): void {
    this.#done()
  }

  onError(): void {
    this.#done()
  }
}
