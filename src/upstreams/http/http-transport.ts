import type { Written } from '../../util/written.ts'
import type { Clock, Exchange, ServerSide, UpstreamContext } from '../../api/index.ts'
import type { HttpUpstreamConfig } from '../../config/config.gen.ts'
import type { HttpTransport, ReplyHandler, ReplyHeaders } from '../../http-client/port.ts'
import { gatewayError } from '../../errors/errors.ts'
import { standardHeaders } from '../../protocol/headers.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { encodeRequest } from '../../protocol/jsonrpc.ts'
import { HEADER } from '../../protocol/methods.ts'
import { MODERN_VERSION } from '../../protocol/versions.ts'
import type { HeldBytes } from '../../transport/backlog.ts'
import { parseSize } from '../../util/units.ts'
import type { Pending, Transport, TransportEvents } from '../transport.ts'
import { Receipt, Reply, type ReplyHost } from './response-reader.ts'
import { openClient } from './open-client.ts'
import { addCallHeaders, standingHeaders, targetOf } from './request.ts'
import type { Position } from './response-body.ts'
import { isSessionForgotten } from './http-failures.ts'
import { StandingStream } from './standalone-stream.ts'

/** Requests and streams open at once; more wait for their turn. */
const CONNECTIONS = 256
const RETRY_MS = 1000
const GOODBYE_MS = 1000
/** Connections in a row that bring nothing before a stream is given up. */
const MAX_FRUITLESS = 5
const FIRST_RESUME_MS = 500
const LONGEST_RESUME_MS = 30_000
const STREAM = 'text/event-stream'
const EITHER = `application/json, ${STREAM}`

/** POSTs to one URL (Streamable HTTP of both eras). Stays on that origin; redirects are not followed. */
export class StreamableHttpTransport implements Transport, ReplyHost {
  readonly streams = true
  readonly pid = undefined
  readonly upstream: string
  readonly maxReply: number
  readonly held: HeldBytes
  events: TransportEvents
  /** The parameters of `initialize`. */
  greeting: JsonObject | undefined
  readonly #clock: Clock
  readonly #client: HttpTransport
  readonly #path: string
  readonly #standing: Readonly<Record<string, string>>
  #server: ServerSide | undefined
  #session: string | undefined
  #hadSession = false
  #stream: StandingStream | undefined
  #closing: Promise<void> | undefined

  constructor(spec: HttpUpstreamConfig, context: UpstreamContext, events: TransportEvents, held: HeldBytes) {
    const { name, clock, gateway } = context
    const url = targetOf(spec, context)
    this.upstream = name
    this.maxReply = parseSize(spec.maxReply)
    this.held = held
    this.events = events
    this.#clock = clock
    this.#path = url.pathname + url.search
    this.#standing = standingHeaders(spec.headers, `${gateway.name}/${gateway.version}`)
    // Deadlines are the business of the pipeline; a stream may be silent for hours.
    this.#client = openClient(spec, context, CONNECTIONS)
  }

  request(pending: Pending, params: JsonObject | undefined): void {
    if (pending.call !== undefined) this.#checkRoom()
    const isModern = this.#server?.era === 'modern' || pending.method === 'server/discover'
    const headers = isModern ? this.#modernHeaders(pending.method, params) : this.#legacyHeaders(EITHER)
    if (pending.call === undefined && pending.method === 'initialize') this.greeting = params
    if (pending.call !== undefined) addCallHeaders(headers, pending.call.headers, this.#standing)
    const body = encodeRequest(pending.id, pending.method, params, pending.call?.exchange.received)
    this.#dispatch('POST', headers, body, new Reply(this, pending), pending.call?.exchange)
  }

  #checkRoom(): void {
    if (!this.held.isFull) return
    const why = 'too many large replies are being read'
    throw gatewayError('GW_UPSTREAM_BUSY', { upstream: this.upstream, why, retryAfterMs: RETRY_MS })
  }

  send(text: string): Promise<void> {
    if (this.#closing !== undefined) return Promise.resolve()
    return new Promise(resolve =>
      this.#dispatch('POST', this.#legacyHeaders(EITHER), text, new Receipt(resolve)),
    )
  }

  abandon(pending: Pending): boolean {
    pending.carrier?.abort()
    return false
  }

  opened(server: ServerSide): void {
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
      get: (handler, eventId) => this.#get(handler, eventId),
      message: text => this.events.received(text, undefined),
      reopened: () => this.events.reopened(),
      lost: why => this.lost(why),
    })
    this.#stream.open()
  }

  retire(): Promise<void> {
    this.#stream?.close()
    this.#session = undefined
    return this.#client.close()
  }

  close(): Promise<void> {
    this.#closing ??= this.#sayGoodbye()
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

  resume(pending: Pending, position: Position): boolean {
    const { eventId } = position
    if (this.#server?.era !== 'legacy' || eventId === undefined || this.#closing !== undefined) return false
    position.fruitless = position.events > 0 ? 0 : position.fruitless + 1
    position.events = 0
    if (position.fruitless > MAX_FRUITLESS) return false
    const pause = Math.min(position.retryMs ?? FIRST_RESUME_MS, LONGEST_RESUME_MS)
    this.#clock.after(pause, () => {
      if (pending.open) this.#get(new Reply(this, pending, position), eventId, pending.call?.exchange)
    })
    return true
  }

  lost(why: string): void {
    this.#stream?.close()
    this.events.closed({ why })
  }

  #get(handler: ReplyHandler, eventId: string | undefined, exchange?: Exchange): void {
    const headers = this.#legacyHeaders(STREAM)
    if (eventId !== undefined) headers[HEADER.lastEventId] = eventId
    this.#dispatch('GET', headers, undefined, handler, exchange)
  }

  #dispatch(
    method: 'GET' | 'POST' | 'DELETE',
    headers: Record<string, string>,
    body: Written | undefined,
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
      accept: EITHER,
      ...standardHeaders(method, params, version),
    }
  }

  #legacyHeaders(accept: string): Record<string, string> {
    const headers: Record<string, string> = { ...this.#standing, accept }
    if (accept === EITHER) headers['content-type'] = 'application/json'
    if (this.#session !== undefined) headers[HEADER.session] = this.#session
    if (this.#server !== undefined) headers[HEADER.version] = this.#server.version
    return headers
  }

  async #sayGoodbye(): Promise<void> {
    this.#stream?.close()
    if (this.#session !== undefined) {
      await new Promise<void>(resolve => {
        this.#clock.after(GOODBYE_MS, resolve)
        this.#dispatch('DELETE', this.#legacyHeaders(STREAM), undefined, new Receipt(resolve))
      })
    }
    await this.#client.destroy()
  }
}
