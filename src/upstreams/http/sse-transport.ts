import type { EncodedMessage } from '../../util/encoded-message.ts'
import type { Exchange, UpstreamContext } from '../../api/index.ts'
import type { SseUpstreamConfig } from '../../config/config.gen.ts'
import type { Reason } from '../../errors/errors.ts'
import { gatewayError, GatewayError } from '../../errors/errors.ts'
import type {
  RequestControl,
  HttpTransport,
  ReplyHandler,
  ReplyHeaders,
} from '../../http-client/transport.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { encodeRequest } from '../../protocol/jsonrpc.ts'
import { formatPeerText } from '../../util/log.ts'
import { parseSize } from '../../util/units.ts'
import type { PendingRequest, Transport, TransportEvents } from '../transport.ts'
import type { HttpErrorReply } from './http-failures.ts'
import {
  createBrokenError,
  isSessionForgotten,
  MAX_REFUSAL_BYTES,
  formatRedirectTarget,
  extractServerMessage,
  MAX_SHOWN_BYTES,
  createStatusError,
  describeUnreachable,
} from './http-failures.ts'
import type { HttpReach } from './open-client.ts'
import { openClient } from './open-client.ts'
import { addCallHeaders, createQuery, createStandingHeaders, createTargetUrl, withQuery } from './request.ts'
import { WholeBody, getChallenge, createEventReader, isEventStream } from './response-reader.ts'

/** POSTs open at once, and the stream; more wait for their turn. */
const CONNECTIONS = 64

/** Messages that may wait for the endpoint. */
const MAX_QUEUED = 1000

/** The keys of an upstream that HTTP+SSE reads. */
type SseSpec = Pick<SseUpstreamConfig, 'headers' | 'query' | 'maxReply'> & HttpReach

/** HTTP+SSE (2024-11-05): messages are posted, and everything that comes back comes on one stream. */
export class SseTransport implements Transport {
  readonly streams = false
  readonly pid = undefined
  readonly #upstream: string
  readonly #events: TransportEvents
  readonly #client: HttpTransport
  readonly #url: URL
  readonly #query: SseSpec['query']
  readonly #standing: Readonly<Record<string, string>>
  readonly #stream: SseEventStream
  /** The path that messages are posted to, once the server has said it. */
  #endpoint: string | undefined
  #queue: (() => void)[] = []

  constructor(spec: SseSpec, context: UpstreamContext, events: TransportEvents) {
    const { name, gateway } = context
    this.#upstream = name
    this.#events = events
    this.#url = createTargetUrl(spec, context)
    this.#query = createQuery(spec, context)
    this.#standing = createStandingHeaders(spec.headers, `${gateway.name}/${gateway.version}`)
    // Deadlines are the business of the pipeline; a stream may be silent for hours.
    this.#client = openClient(spec, context, CONNECTIONS)
    this.#stream = new SseEventStream({
      maxEvent: parseSize(spec.maxReply),
      endpoint: url => this.#setEndpoint(url),
      message: text => events.received(text, undefined),
      ended: reason => this.#handleEnd(reason),
    })
    const headers = { ...this.#standing, accept: 'text/event-stream', 'cache-control': 'no-cache' }
    const path = this.#url.pathname + this.#url.search
    this.#client.dispatch({ path, method: 'GET', headers }, this.#stream)
  }

  /** True once the server has said where to post. */
  get hasEndpoint(): boolean {
    return this.#endpoint !== undefined
  }

  request(pending: PendingRequest, params: JsonObject | undefined): void {
    const body = encodeRequest(pending.id, pending.method, params, pending.call?.exchange.received)
    this.#whenEndpointKnown(() => {
      if (!pending.open) return
      const headers = this.#createHeaders()
      if (pending.call !== undefined) addCallHeaders(headers, pending.call.headers, this.#standing)
      this.#post(headers, body, receipt => this.#handlePosted(pending, receipt), pending.call?.exchange)
    })
  }

  send(text: string): Promise<void> {
    return new Promise<void>(resolve =>
      this.#whenEndpointKnown(() => this.#post(this.#createHeaders(), text, () => resolve())),
    ).catch(() => undefined)
  }

  abandon(): boolean {
    // The message is out; its answer comes on a stream that all share.
    return false
  }

  opened(): void {
    // There is one era only.
  }

  listen(): void {
    // The stream is open from the beginning.
  }

  retire(): Promise<void> {
    return this.close()
  }

  close(): Promise<void> {
    this.#stream.close({ why: 'it was closed' })
    return this.#client.destroy()
  }

  #setEndpoint(said: string): void {
    if (this.#endpoint !== undefined) return
    const url = URL.parse(said, this.#url.href)
    if (url?.origin !== this.#url.origin)
      return this.#stream.close({
        why: `it wants messages outside ${this.#url.origin}; nothing is sent elsewhere`,
        detail: formatPeerText(said, 100),
      })
    const to = withQuery(url, this.#query)
    this.#endpoint = to.pathname + to.search
    for (const send of this.#queue.splice(0)) send()
  }

  #whenEndpointKnown(send: () => void): void {
    if (this.#endpoint !== undefined) return send()
    if (this.#queue.length >= MAX_QUEUED)
      throw gatewayError('GW_UPSTREAM_DOWN', {
        upstream: this.#upstream,
        why: 'it has not said where to post',
      })
    this.#queue.push(send)
  }

  #createHeaders(): Record<string, string> {
    return { ...this.#standing, 'content-type': 'application/json' }
  }

  #post(
    headers: Record<string, string>,
    body: EncodedMessage,
    done: (receipt: PostOutcome) => void,
    exchange?: Exchange,
  ): void {
    const path = this.#endpoint ?? ''
    this.#client.dispatch({ path, method: 'POST', headers, body, exchange }, new PostHandler(done))
  }

  #handlePosted(pending: PendingRequest, receipt: PostOutcome): void {
    if (!pending.open) return
    const upstream = this.#upstream
    if ('error' in receipt) {
      const error = createBrokenError(upstream, receipt.error, false)
      return this.#events.failed(pending, error)
    }
    const { status, body } = receipt
    if (status < 300) return
    // The stream is its session: one that the server does not know any more is of no use.
    const isForgotten = status === 404 || isSessionForgotten(status, body)
    this.#events.failed(
      pending,
      isForgotten
        ? gatewayError('GW_UPSTREAM_CLOSED', {
            upstream,
            why: `it has forgotten our session (HTTP ${status})`,
            sessionLost: true,
          })
        : createStatusError(upstream, receipt),
    )
  }

  #handleEnd(reason: Reason): void {
    // A connection that is closing by itself, or is not complete yet, must not hear of it in the same breath.
    process.nextTick(() => this.#events.closed(reason))
  }
}

/** Result of a POST: status and start of the body, or the error. */
type PostOutcome = HttpErrorReply | { readonly error: Error }

/** The reply to a POST of HTTP+SSE: a status that says whether the message was taken. */
class PostHandler implements ReplyHandler {
  readonly #done: (receipt: PostOutcome) => void
  readonly #body: WholeBody
  #status = 0
  #challenge: string | undefined

  constructor(done: (receipt: PostOutcome) => void) {
    this.#done = done
    this.#body = new WholeBody(MAX_REFUSAL_BYTES, text =>
      done({
        status: this.#status,
        body: text.toString('utf8', 0, MAX_SHOWN_BYTES),
        challenge: this.#challenge,
      }),
    )
  }

  onSend(): void {
    // A POST whose receipt is awaited cannot be given up.
  }

  onHead(status: number, headers: ReplyHeaders): void {
    this.#status = status
    this.#challenge = getChallenge(headers)
  }

  onBody(bytes: Buffer, carrier: RequestControl): void {
    if (!this.#body.push(bytes)) carrier.abort(this, new Error('nobody reads this body'))
  }

  onEnd(): void {
    this.#body.end()
  }

  onError(error: Error): void {
    this.#done(this.#status >= 200 ? { status: this.#status, body: '' } : { error })
  }
}

/** Takes the events of a stream of HTTP+SSE. */
interface SseEventStreamDeps {
  readonly maxEvent: number
  endpoint(url: string): void
  message(text: Buffer): void
  /** Called at the end of the stream; `status` if it was refused. */
  ended(reason: Reason, status?: number): void
}

/** The event stream on which a server of HTTP+SSE (2024-11-05) says everything. */
class SseEventStream implements ReplyHandler {
  readonly #host: SseEventStreamDeps
  readonly #read: (chunk: Buffer) => void
  #carrier: RequestControl | undefined
  /** The server's words beside a status that refuses the stream. */
  #refusal: WholeBody | undefined
  #isOver = false

  constructor(host: SseEventStreamDeps) {
    this.#host = host
    this.#read = createEventReader({
      maxBufferSize: host.maxEvent,
      onEvent: ({ event = 'message', data }) => {
        if (event === 'endpoint') host.endpoint(data)
        else if (event === 'message' && data !== '') this.#handleEvent(data)
      },
      onError: error => {
        if (error.type === 'max-buffer-size-exceeded') this.#handleTooLarge()
      },
    })
  }

  #handleEvent(data: string): void {
    if (data.length > this.#host.maxEvent) this.#handleTooLarge()
    else if (!this.#isOver) this.#host.message(Buffer.from(data, 'latin1'))
  }

  #handleTooLarge(): void {
    this.close({ why: `it sent a message larger than ${this.#host.maxEvent} bytes` })
  }

  close(reason: Reason, status?: number): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#carrier?.abort(this, new Error(reason.why))
    this.#host.ended(reason, status)
  }

  onSend(carrier: RequestControl): void {
    this.#carrier = carrier
    if (this.#isOver) carrier.abort(this, new Error('no longer needed'))
  }

  onHead(status: number, headers: ReplyHeaders): void {
    if (status !== 200) this.#handleRefusal(status, headers)
    else if (!isEventStream(headers))
      this.close({ why: 'it answers GET with something that is no event stream' }, status)
  }

  #handleRefusal(status: number, headers: ReplyHeaders): void {
    const challenge = getChallenge(headers)
    const why = `it answers GET with HTTP ${status}${formatRedirectTarget(headers.location)}`
    this.#refusal = new WholeBody(MAX_REFUSAL_BYTES, text =>
      this.close(
        { why, detail: extractServerMessage(text.toString('utf8', 0, MAX_SHOWN_BYTES), challenge) },
        status,
      ),
    )
  }

  onBody(bytes: Buffer): void {
    if (this.#refusal?.push(bytes) === false) this.close({ why: 'it refuses GET with a very long text' })
    if (this.#refusal !== undefined) return
    // Everything that structures the stream is ASCII: as Latin-1 the bytes of the data stay what they are.
    if (!this.#isOver) this.#read(bytes)
  }

  onEnd(): void {
    this.#refusal?.end()
    this.close({ why: 'it ended the event stream' })
  }

  onError(error: Error): void {
    if (error instanceof GatewayError) return this.close({ why: error.message, error })
    const broke = `the event stream broke (${error.message})`
    this.close({ why: this.#carrier === undefined ? describeUnreachable(error) : broke })
  }
}
