import type { EncodedMessage } from '../../util/messages.ts'
import type { Exchange, UpstreamContext, UpstreamEndpoint } from '../../api/index.ts'
import type { SseUpstreamConfig } from '../../config/config.gen.ts'
import type { Reason } from '../../errors/errors.ts'
import { gatewayError, GatewayError } from '../../errors/errors.ts'
import type { RequestControl, HttpTransport, ReplyHandler, ReplyHeaders } from '../../net/http-client-types.ts'
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
import { openClient } from './open-client.ts'
import { addCallHeaders, createQuery, createStandingHeaders, createTargetUrl, withQuery } from './request.ts'
import { WholeBody, getChallenge, createEventReader, isEventStream } from './response-reader.ts'

/** Concurrent POSTs, and the stream; more are queued. */
const CONNECTIONS = 64

/** Messages queued until the endpoint is known. */
const MAX_QUEUED = 1000

type SseSpec = Pick<SseUpstreamConfig, 'headers' | 'query' | 'maxReply'> & UpstreamEndpoint

/** HTTP+SSE (2024-11-05): POSTs messages, and receives all replies on one stream. */
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
  /** Path for POSTs, once the server has sent it. */
  #endpoint: string | undefined
  #queue: (() => void)[] = []

  constructor(spec: SseSpec, context: UpstreamContext, events: TransportEvents) {
    const { name, gateway } = context
    this.#upstream = name
    this.#events = events
    this.#url = createTargetUrl(spec, context)
    this.#query = createQuery(spec, context)
    this.#standing = createStandingHeaders(spec.headers, `${gateway.name}/${gateway.version}`)
    // The pipeline enforces deadlines; a stream may be silent for hours.
    this.#client = openClient(spec, context, CONNECTIONS)
    this.#stream = new SseEventStream({
      maxEvent: parseSize(spec.maxReply),
      endpoint: url => this.#setEndpoint(url),
      message: text => events.received(text, undefined),
      closed: reason => this.#handleEnd(reason),
    })
    const headers = { ...this.#standing, accept: 'text/event-stream', 'cache-control': 'no-cache' }
    const path = this.#url.pathname + this.#url.search
    this.#client.dispatch({ path, method: 'GET', headers }, this.#stream)
  }

  /** True once the server has sent the path for POSTs. */
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
    // The message was sent; its answer comes on the shared stream.
    return false
  }

  opened(): void {}

  listen(): void {
    // The stream is open from the start.
  }

  retire(): Promise<void> {
    return this.close()
  }

  close(): Promise<void> {
    this.#stream.close({ why: 'closed' })
    return this.#client.destroy()
  }

  #setEndpoint(endpoint: string): void {
    if (this.#endpoint !== undefined) return
    const url = URL.parse(endpoint, this.#url.href)
    if (url?.origin !== this.#url.origin)
      return this.#stream.close({
        why: `endpoint outside ${this.#url.origin} rejected`,
        detail: formatPeerText(endpoint, 100),
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
        why: 'no endpoint received yet',
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
    // The stream is the session: if the server no longer knows it, the stream is useless.
    const isForgotten = status === 404 || isSessionForgotten(status, body)
    this.#events.failed(
      pending,
      isForgotten
        ? gatewayError('GW_UPSTREAM_CLOSED', {
            upstream,
            why: `session expired (HTTP ${status})`,
            sessionLost: true,
          })
        : createStatusError(upstream, receipt),
    )
  }

  #handleEnd(reason: Reason): void {
    // Emit asynchronously: the connection may be closing, or not fully constructed.
    process.nextTick(() => this.#events.closed(reason))
  }
}

/** POST result: status and body start, or the error. */
type PostOutcome = HttpErrorReply | { readonly error: Error }

/** Reads the reply to an HTTP+SSE POST: a status that reports whether the message was accepted. */
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
    // A POST whose status is needed cannot be cancelled.
  }

  onHead(status: number, headers: ReplyHeaders): void {
    this.#status = status
    this.#challenge = getChallenge(headers)
  }

  onBody(bytes: Buffer, control: RequestControl): void {
    if (!this.#body.push(bytes)) control.abort(this, new Error('body not needed'))
  }

  onEnd(): void {
    this.#body.end()
  }

  onError(error: Error): void {
    this.#done(this.#status >= 200 ? { status: this.#status, body: '' } : { error })
  }
}

interface SseEventStreamDeps {
  readonly maxEvent: number
  endpoint(url: string): void
  message(text: Buffer): void
  closed(reason: Reason): void
}

/** The event stream with all messages from an HTTP+SSE server (2024-11-05). */
class SseEventStream implements ReplyHandler {
  readonly #host: SseEventStreamDeps
  readonly #read: (chunk: Buffer) => void
  #control: RequestControl | undefined
  /** Error body on the stream. */
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
    this.close({ why: `message larger than ${this.#host.maxEvent} bytes` })
  }

  close(reason: Reason): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#control?.abort(this, new Error(reason.why))
    this.#host.closed(reason)
  }

  onSend(control: RequestControl): void {
    this.#control = control
    if (this.#isOver) control.abort(this, new Error('no longer needed'))
  }

  onHead(status: number, headers: ReplyHeaders): void {
    if (status !== 200) this.#handleRefusal(status, headers)
    else if (!isEventStream(headers)) this.close({ why: 'the answer to GET is not an event stream' })
  }

  #handleRefusal(status: number, headers: ReplyHeaders): void {
    const challenge = getChallenge(headers)
    const why = `GET failed with HTTP ${status}${formatRedirectTarget(headers.location)}`
    this.#refusal = new WholeBody(MAX_REFUSAL_BYTES, text =>
      this.close({ why, detail: extractServerMessage(text.toString('utf8', 0, MAX_SHOWN_BYTES), challenge) }),
    )
  }

  onBody(bytes: Buffer): void {
    if (this.#refusal?.push(bytes) === false) this.close({ why: 'error body of GET too large' })
    if (this.#refusal !== undefined) return
    // The stream structure is ASCII: decoding as Latin-1 preserves the data bytes.
    if (!this.#isOver) this.#read(bytes)
  }

  onEnd(): void {
    this.#refusal?.end()
    this.close({ why: 'the event stream ended' })
  }

  onError(error: Error): void {
    if (error instanceof GatewayError) return this.close({ why: error.message, error })
    const broke = `the event stream was interrupted (${error.message})`
    this.close({ why: this.#control === undefined ? describeUnreachable(error) : broke })
  }
}
