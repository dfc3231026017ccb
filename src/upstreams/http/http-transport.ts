import type { Clock, Exchange, ServerDescription, UpstreamContext } from '../../api/index.ts'
import type { HttpUpstreamConfig } from '../../config/config.gen.ts'
import { gatewayError } from '../../errors/errors.ts'
import type { RequestControl, HttpTransport, ReplyHandler, ReplyHeaders } from '../../net/http-client-types.ts'
import { createStandardHeaders } from '../../protocol/headers.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { encodeRequest } from '../../protocol/jsonrpc.ts'
import { HEADER, MODERN_VERSION } from '../../protocol/methods.ts'
import type { MemoryBudget } from '../../net/backlog.ts'
import { Backoff, HEALTHY_MS } from '../../net/backoff.ts'
import { parseSize } from '../../util/units.ts'
import type { EncodedMessage } from '../../util/messages.ts'
import type { PendingRequest, Transport, TransportEvents } from '../transport.ts'
import { openClient } from './open-client.ts'
import { isSessionForgotten, describeUnreachable } from './http-failures.ts'
import { addCallHeaders, createStandingHeaders, createTargetUrl } from './request.ts'
import type { StreamPosition, ResponseReaderDeps } from './response-reader.ts'
import { EventBody, isEventStream, ReceiptHandler, ResponseReader, createStreamPosition } from './response-reader.ts'

interface StandingStreamDeps {
  readonly clock: Clock
  readonly maxEvent: number
  /** Sends the GET; `eventId` is the last event seen. */
  get(handler: ReplyHandler, eventId: string | undefined): void
  message(text: Buffer): void
  /** The stream reopened, and the server cannot replay missed messages. */
  reopened(): void
  lost(reason: string): void
}

/** Maximum reconnection delay that a server may set. */
const MAX_RETRY_MS = 30_000

/** A legacy server's GET stream, for messages outside requests; reopened when it closes. */
class StandingStream implements ReplyHandler {
  readonly #host: StandingStreamDeps
  readonly #backoff = new Backoff()
  #control: RequestControl | undefined
  #body: EventBody | undefined
  #position: StreamPosition = createStreamPosition()
  #openedAt = 0
  #hasBeenOpen = false
  #isWanted = true
  #cancelRetry: (() => void) | undefined

  constructor(host: StandingStreamDeps) {
    this.#host = host
  }

  open(): void {
    this.#control = undefined
    this.#body = undefined
    this.#openedAt = this.#host.clock.now()
    if (this.#isWanted) this.#host.get(this, this.#position.eventId)
  }

  close(): void {
    this.#isWanted = false
    this.#cancelRetry?.()
    this.#control?.abort(this, new Error('no longer needed'))
  }

  onSend(control: RequestControl): void {
    this.#control = control
    if (!this.#isWanted) this.close()
  }

  onHead(status: number, headers: ReplyHeaders): void {
    // 405 and similar: the server has no such stream, as the protocol allows. 5xx may be temporary.
    if (status !== 200 || !isEventStream(headers)) {
      if (status < 500) this.close()
      return
    }
    this.#body = new EventBody(this.#host.maxEvent, this.#position, text => this.#host.message(text))
    if (this.#hasBeenOpen && this.#position.eventId === undefined) this.#host.reopened()
    this.#hasBeenOpen = true
  }

  onBody(bytes: Buffer, control: RequestControl): void {
    if (this.#body?.push(bytes) === false) control.abort(this, new Error('event too large'))
  }

  onEnd(): void {
    this.#retryLater()
  }

  onError(error: Error): void {
    if (!this.#isWanted) return
    if (this.#control === undefined) this.#host.lost(describeUnreachable(error))
    else this.#retryLater()
  }

  #retryLater(): void {
    if (!this.#isWanted) return
    const { clock } = this.#host
    if (clock.now() - this.#openedAt >= HEALTHY_MS) this.#backoff.reset()
    const pause = Math.max(this.#backoff.next(), Math.min(this.#position.retryMs ?? 0, MAX_RETRY_MS))
    this.#cancelRetry = clock.after(pause, () => this.open())
  }
}

/** Concurrent requests and streams; more are queued. */
const CONNECTIONS = 256
const MIN_RETRY_MS = 1000
const MAX_GOODBYE_MS = 1000
/** Consecutive connections without events before the stream is abandoned. */
const MAX_FRUITLESS = 5
const FIRST_RESUME_MS = 500
const MAX_RESUME_MS = 30_000
const STREAM = 'text/event-stream'
const ACCEPT_ANY = `application/json, ${STREAM}`

/** Streamable HTTP in both eras: POSTs to one URL. Redirects stay within its origin. */
export class StreamableHttpTransport implements Transport, ResponseReaderDeps {
  readonly streams = true
  readonly pid = undefined
  readonly upstream: string
  readonly maxReply: number
  readonly memory: MemoryBudget
  events: TransportEvents
  initializeParams: JsonObject | undefined
  readonly #clock: Clock
  readonly #client: HttpTransport
  readonly #path: string
  readonly #standing: Readonly<Record<string, string>>
  #server: ServerDescription | undefined
  #session: string | undefined
  #hadSession = false
  #stream: StandingStream | undefined
  #closing: Promise<void> | undefined

  constructor(spec: HttpUpstreamConfig, context: UpstreamContext, events: TransportEvents, memory: MemoryBudget) {
    const { name, clock, gateway } = context
    const url = createTargetUrl(spec, context)
    this.upstream = name
    this.maxReply = parseSize(spec.maxReply)
    this.memory = memory
    this.events = events
    this.#clock = clock
    this.#path = url.pathname + url.search
    this.#standing = createStandingHeaders(spec.headers, `${gateway.name}/${gateway.version}`)
    // The pipeline enforces deadlines; a stream may be silent for hours.
    this.#client = openClient(spec, context, CONNECTIONS)
  }

  request(pending: PendingRequest, params: JsonObject | undefined): void {
    if (pending.call !== undefined) this.#checkMemory()
    const isModern = this.#server?.era === 'modern' || pending.method === 'server/discover'
    const headers = isModern ? this.#modernHeaders(pending.method, params) : this.#legacyHeaders(ACCEPT_ANY)
    if (pending.call === undefined && pending.method === 'initialize') this.initializeParams = params
    if (pending.call !== undefined) addCallHeaders(headers, pending.call.headers, this.#standing)
    const body = encodeRequest(pending.id, pending.method, params, pending.call?.exchange.received)
    this.#dispatch('POST', headers, body, new ResponseReader(this, pending), pending.call?.exchange)
  }

  #checkMemory(): void {
    if (!this.memory.isFull) return
    const why = 'too many large replies in progress'
    throw gatewayError('GW_UPSTREAM_BUSY', { upstream: this.upstream, why, retryAfterMs: MIN_RETRY_MS })
  }

  send(text: string): Promise<void> {
    if (this.#closing !== undefined) return Promise.resolve()
    return new Promise(resolve =>
      this.#dispatch('POST', this.#legacyHeaders(ACCEPT_ANY), text, new ReceiptHandler(resolve)),
    )
  }

  abandon(pending: PendingRequest): boolean {
    pending.httpRequest?.abort()
    return false
  }

  opened(server: ServerDescription): void {
    this.#server = server
  }

  get session(): string | undefined {
    return this.#session
  }

  listen(): void {
    if (this.#server?.era !== 'legacy') return
    this.#stream = new StandingStream({
      clock: this.#clock,
      maxEvent: this.maxReply,
      get: (handler, eventId) => this.#openGetStream(handler, eventId),
      message: text => this.events.received(text, undefined),
      reopened: () => this.events.reopened(),
      lost: reason => this.lost(reason),
    })
    this.#stream.open()
  }

  retire(): Promise<void> {
    this.#stream?.close()
    this.#session = undefined
    return this.#client.close()
  }

  close(): Promise<void> {
    this.#closing ??= this.#endSession()
    return this.#closing
  }

  after(ms: number, callback: () => void): () => void {
    return this.#clock.after(ms, callback)
  }

  greeted(method: string, headers: ReplyHeaders): void {
    const session = headers[HEADER.session]
    if (method !== 'initialize' || session === undefined || session === '') return
    this.#session = session
    this.#hadSession = true
  }

  isSessionLost(method: string, status: number, body: string): boolean {
    return this.#hadSession && method !== 'initialize' && isSessionForgotten(status, body, this.#session)
  }

  resume(pending: PendingRequest, position: StreamPosition): boolean {
    const { eventId } = position
    if (this.#server?.era !== 'legacy' || eventId === undefined || this.#closing !== undefined) return false
    position.emptyConnections = position.events > 0 ? 0 : position.emptyConnections + 1
    position.events = 0
    if (position.emptyConnections > MAX_FRUITLESS) return false
    const pause = Math.min(position.retryMs ?? FIRST_RESUME_MS, MAX_RESUME_MS)
    this.#clock.after(pause, () => {
      if (pending.open)
        this.#openGetStream(new ResponseReader(this, pending, position), eventId, pending.call?.exchange)
    })
    return true
  }

  lost(why: string): void {
    this.#stream?.close()
    this.events.closed({ why })
  }

  #openGetStream(handler: ReplyHandler, eventId: string | undefined, exchange?: Exchange): void {
    const headers = this.#legacyHeaders(STREAM)
    if (eventId !== undefined) headers[HEADER.lastEventId] = eventId
    this.#dispatch('GET', headers, undefined, handler, exchange)
  }

  #dispatch(
    method: 'GET' | 'POST' | 'DELETE',
    headers: Record<string, string>,
    body: EncodedMessage | undefined,
    handler: ReplyHandler,
    exchange?: Exchange,
  ): void {
    this.#client.dispatch({ path: this.#path, method, headers, body, exchange }, handler)
  }

  #modernHeaders(method: string, params: JsonObject | undefined): Record<string, string> {
    const version = this.#server?.era === 'modern' ? this.#server.version : MODERN_VERSION
    return {
      ...this.#standing,
      'content-type': 'application/json',
      accept: ACCEPT_ANY,
      ...createStandardHeaders(method, params, version),
    }
  }

  #legacyHeaders(accept: string): Record<string, string> {
    const headers: Record<string, string> = { ...this.#standing, accept }
    if (accept === ACCEPT_ANY) headers['content-type'] = 'application/json'
    if (this.#session !== undefined) headers[HEADER.session] = this.#session
    if (this.#server !== undefined) headers[HEADER.version] = this.#server.version
    return headers
  }

  async #endSession(): Promise<void> {
    this.#stream?.close()
    if (this.#session !== undefined) {
      await new Promise<void>(resolve => {
        this.#clock.after(MAX_GOODBYE_MS, resolve)
        this.#dispatch('DELETE', this.#legacyHeaders(STREAM), undefined, new ReceiptHandler(resolve))
      })
    }
    await this.#client.destroy()
  }
}
