import type { UpstreamContext } from '../../api/index.ts'
import type { UpstreamConfig } from '../../config/config.gen.ts'
import { OWNER_ONLY, gatewayError } from '../../errors/errors.ts'
import { HttpClient } from '../../http-client/http-client.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { encodeRequest } from '../../protocol/jsonrpc.ts'
import { visible } from '../../transport/printable.ts'
import { parseSize } from '../../util/units.ts'
import type { Pending, Wire, WireEvents } from '../transport.ts'
import { brokenFailure, statusFailure } from './http-failures.ts'
import { addCallHeaders, standingHeaders } from './request-headers.ts'
import { isSessionUnknown } from './session-unknown.ts'
import { type Receipt, ReceiptHandler } from './sse-discard-response.ts'
import { EventStream } from './sse-stream.ts'

const CONNECT_MS = 5000
/** POSTs open at once, and the stream; more wait for their turn. */
const CONNECTIONS = 64
/** Messages that may wait for the endpoint. */
const MAX_WAITING = 1000

/** What it takes to reach a server over HTTP+SSE. */
export type SseSpec = Pick<Extract<UpstreamConfig, { type: 'sse' }>, 'url' | 'headers' | 'maxReply'>

/** HTTP+SSE (2024-11-05): messages are posted, and everything that comes back comes on one stream. */
export class SseWire implements Wire {
  readonly streams = false
  readonly pid = undefined
  readonly lastWords = ''
  readonly #upstream: string
  readonly #events: WireEvents
  readonly #client: HttpClient
  readonly #url: URL
  readonly #standing: Readonly<Record<string, string>>
  readonly #stream: EventStream
  /** Where messages go, once the server has said it. */
  #endpoint: string | undefined
  #waiting: (() => void)[] = []

  constructor(spec: SseSpec, { name, clock, gateway }: UpstreamContext, events: WireEvents) {
    this.#upstream = name
    this.#events = events
    this.#url = new URL(spec.url)
    this.#standing = standingHeaders(spec.headers, `${gateway.name}/${gateway.version}`)
    // Deadlines are the business of the pipeline; a stream may be silent for hours.
    this.#client = new HttpClient(this.#url, { clock, connections: CONNECTIONS, connectMs: CONNECT_MS })
    this.#stream = new EventStream({
      maxEvent: parseSize(spec.maxReply),
      endpoint: url => this.#learn(url),
      message: text => events.received(text, undefined),
      ended: why => this.#ended(why),
    })
    const headers = { ...this.#standing, accept: 'text/event-stream', 'cache-control': 'no-cache' }
    const path = this.#url.pathname + this.#url.search
    this.#client.dispatch({ path, method: 'GET', headers }, this.#stream)
  }

  /** Whether the server has said where to post. */
  get isGreeted(): boolean {
    return this.#endpoint !== undefined
  }

  request(pending: Pending, params: JsonObject | undefined): void {
    const body = encodeRequest(pending.id, pending.method, params, pending.call?.exchange.received)
    this.#whenKnown(() => {
      if (!pending.open) return
      const headers = this.#headers()
      if (pending.call !== undefined) addCallHeaders(headers, pending.call.headers, this.#standing)
      this.#post(headers, body, receipt => this.#posted(pending, receipt))
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
    this.#stream.end('it was closed')
    return this.#client.destroy()
  }

  #learn(said: string): void {
    if (this.#endpoint !== undefined) return
    const url = URL.parse(said, this.#url.href)
    if (url?.origin !== this.#url.origin)
      return this.#stream.end(
        `it wants messages outside ${this.#url.origin}; nothing is sent elsewhere${OWNER_ONLY}${visible(said, 100)}`,
      )
    this.#endpoint = url.pathname + url.search
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

  #post(headers: Record<string, string>, body: string, done: (receipt: Receipt) => void): void {
    const path = this.#endpoint ?? ''
    this.#client.dispatch({ path, method: 'POST', headers, body }, new ReceiptHandler(done))
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
    const isForgotten = status === 404 || (status === 400 && isSessionUnknown(body))
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

  #ended(why: string): void {
    // A link that is closing by itself, or is not complete yet, must not hear of it in the same breath.
    process.nextTick(() => this.#events.closed(why))
  }
}
