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
import type { Pending, Transport, TransportEvents } from '../transport.ts'
import type { StatusReply } from './http-failures.ts'
import {
  brokenFailure,
  isSessionForgotten,
  MAX_REFUSAL,
  redirectTarget,
  said,
  SHOWN_BODY,
  statusFailure,
  unreachable,
} from './http-failures.ts'
import type { Reach } from './open-client.ts'
import { openClient } from './open-client.ts'
import { addCallHeaders, createQuery, standingHeaders, createTargetUrl, withQuery } from './request.ts'
import { WholeBody, getChallenge, createEventReader, isEventStream } from './response-reader.ts'

/** POSTs open at once, and the stream; more wait for their turn. */
const CONNECTIONS = 64

/** Messages that may wait for the endpoint. */
const MAX_WAITING = 1000

/** The keys of an upstream that HTTP+SSE reads. */
type SseSpec = Pick<SseUpstreamConfig, 'headers' | 'query' | 'maxReply'> & Reach

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
  readonly #stream: EventStream
  /** The path that messages are posted to, once the server has said it. */
  #endpoint: string | undefined
  #waiting: (() => void)[] = []

  constructor(spec: SseSpec, context: UpstreamContext, events: TransportEvents) {
    const { name, gateway } = context
    this.#upstream = name
    this.#events = events
    this.#url = createTargetUrl(spec, context)
    this.#query = createQuery(spec, context)
    this.#standing = standingHeaders(spec.headers, `${gateway.name}/${gateway.version}`)
    // Deadlines are the business of the pipeline; a stream may be silent for hours.
    this.#client = openClient(spec, context, CONNECTIONS)
    this.#stream = new EventStream({
      maxEvent: parseSize(spec.maxReply),
      endpoint: url => this.#learn(url),
      message: text => events.received(text, undefined),
      ended: reason => this.#ended(reason),
    })
    const headers = { ...this.#standing, accept: 'text/event-stream', 'cache-control': 'no-cache' }
    const path = this.#url.pathname + this.#url.search
    this.#client.dispatch({ path, method: 'GET', headers }, this.#stream)
  }

  /** True once the server has said where to post. */
  get isGreeted(): boolean {
    return this.#endpoint !== undefined
  }

  request(pending: Pending, params: JsonObject | undefined): void {
    const body = encodeRequest(pending.id, pending.method, params, pending.call?.exchange.received)
    this.#whenKnown(() => {
      if (!pending.open) return
      const headers = this.#headers()
      if (pending.call !== undefined) addCallHeaders(headers, pending.call.headers, this.#standing)
      this.#post(headers, body, receipt => this.#posted(pending, receipt), pending.call?.exchange)
    })
  }

  send(text: string): Promise<void> {
    return new Promise<void>(resolve =>
      this.#whenKnown(() => this.#post(this.#headers(), text, () => resolve())),
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
    this.#stream.end({ why: 'it was closed' })
    return this.#client.destroy()
  }

  #learn(said: string): void {
    if (this.#endpoint !== undefined) return
    const url = URL.parse(said, this.#url.href)
    if (url?.origin !== this.#url.origin)
      return this.#stream.end({
        why: `it wants messages outside ${this.#url.origin}; nothing is sent elsewhere`,
        detail: formatPeerText(said, 100),
      })
    const to = withQuery(url, this.#query)
    this.#endpoint = to.pathname + to.search
    for (const send of this.#waiting.splice(0)) send()
  }

  #whenKnown(send: () => void): void {
    if (this.#endpoint !== undefined) return send()
    if (this.#waiting.length >= MAX_WAITING)
      throw gatewayError('GW_UPSTREAM_DOWN', {
        upstream: this.#upstream,
        why: 'it has not said where to post',
      })
    this.#waiting.push(send)
  }

  #headers(): Record<string, string> {
    return { ...this.#standing, 'content-type': 'application/json' }
  }

  #post(
    headers: Record<string, string>,
    body: EncodedMessage,
    done: (receipt: Receipt) => void,
    exchange?: Exchange,
  ): void {
    const path = this.#endpoint ?? ''
    this.#client.dispatch({ path, method: 'POST', headers, body, exchange }, new ReceiptHandler(done))
  }

  #posted(pending: Pending, receipt: Receipt): void {
    if (!pending.open) return
    const upstream = this.#upstream
    if ('error' in receipt) {
      const error = brokenFailure(upstream, receipt.error, false)
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
        : statusFailure(upstream, receipt),
    )
  }

  #ended(reason: Reason): void {
    // A connection that is closing by itself, or is not complete yet, must not hear of it in the same breath.
    process.nextTick(() => this.#events.closed(reason))
  }
}

/** The outcome of a POST: its status and the beginning of its body, or what broke it. */
type Receipt = StatusReply | { readonly error: Error }

/** The reply to a POST of HTTP+SSE: a status that says whether the message was taken. */
class ReceiptHandler implements ReplyHandler {
  readonly #done: (receipt: Receipt) => void
  readonly #body: WholeBody
  #status = 0
  #challenge: string | undefined

  constructor(done: (receipt: Receipt) => void) {
    this.#done = done
    this.#body = new WholeBody(MAX_REFUSAL, text =>
      done({ status: this.#status, body: text.toString('utf8', 0, SHOWN_BODY), challenge: this.#challenge }),
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
interface EventStreamHost {
  readonly maxEvent: number
  endpoint(url: string): void
  message(text: Buffer): void
  /** The stream is over, and with it the connection; `status` where it was refused. */
  ended(reason: Reason, status?: number): void
}

/** The event stream on which a server of HTTP+SSE (2024-11-05) says everything. */
class EventStream implements ReplyHandler {
  readonly #host: EventStreamHost
  readonly #read: (chunk: Buffer) => void
  #carrier: RequestControl | undefined
  /** The server's words beside a status that refuses the stream. */
  #refusal: WholeBody | undefined
  #isOver = false

  constructor(host: EventStreamHost) {
    this.#host = host
    this.#read = createEventReader({
      maxBufferSize: host.maxEvent,
      onEvent: ({ event = 'message', data }) => {
        if (event === 'endpoint') host.endpoint(data)
        else if (event === 'message' && data !== '') this.#heard(data)
      },
      onError: error => {
        if (error.type === 'max-buffer-size-exceeded') this.#tooLarge()
      },
    })
  }

  #heard(data: string): void {
    if (data.length > this.#host.maxEvent) this.#tooLarge()
    else if (!this.#isOver) this.#host.message(Buffer.from(data, 'latin1'))
  }

  #tooLarge(): void {
    this.end({ why: `it sent a message larger than ${this.#host.maxEvent} bytes` })
  }

  /** Ends it from our side. */
  end(reason: Reason, status?: number): void {
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
    if (status !== 200) this.#refused(status, headers)
    else if (!isEventStream(headers))
      this.end({ why: 'it answers GET with something that is no event stream' }, status)
  }

  #refused(status: number, headers: ReplyHeaders): void {
    const challenge = getChallenge(headers)
    const why = `it answers GET with HTTP ${status}${redirectTarget(headers.location)}`
    this.#refusal = new WholeBody(MAX_REFUSAL, text =>
      this.end({ why, detail: said(text.toString('utf8', 0, SHOWN_BODY), challenge) }, status),
    )
  }

  onBody(bytes: Buffer): void {
    if (this.#refusal?.push(bytes) === false) this.end({ why: 'it refuses GET with a very long text' })
    if (this.#refusal !== undefined) return
    // Everything that structures the stream is ASCII: as Latin-1 the bytes of the data stay what they are.
    if (!this.#isOver) this.#read(bytes)
  }

  onEnd(): void {
    this.#refusal?.end()
    this.end({ why: 'it ended the event stream' })
  }

  onError(error: Error): void {
    if (error instanceof GatewayError) return this.end({ why: error.message, error })
    const broke = `the event stream broke (${error.message})`
    this.end({ why: this.#carrier === undefined ? unreachable(error) : broke })
  }
}
