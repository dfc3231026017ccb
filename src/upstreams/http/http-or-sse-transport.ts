import type { UpstreamContext } from '../../api/index.ts'
import type { HttpUpstreamConfig } from '../../config/config.gen.ts'
import type { Reason } from '../../errors/errors.ts'
import { GatewayError } from '../../errors/errors.ts'
import { parseServerMessage } from '../../protocol/jsonrpc.ts'
import type { MemoryBudget } from '../../transport/backlog.ts'
import type { ConnectionEvents, PendingRequest, Transport, TransportEvents } from '../transport.ts'
import { StreamableHttpTransport } from './http-transport.ts'
import { SseTransport } from './sse-transport.ts'

/** Statuses by which a server without Streamable HTTP refuses a POST of `initialize`. */
const UNSUPPORTED_STATUSES: ReadonlySet<unknown> = new Set([400, 404, 405])
/** Longest wait for a server to say that it speaks HTTP+SSE. */
const MAX_ENDPOINT_MS = 5000

/**
 * Opens Streamable HTTP. Where `initialize` shows that a server has nothing newer, HTTP+SSE carries the connection instead
 * (2025-11-25, backwards compatibility); with the first answer to a call the choice is made, and nothing stands between.
 */
export function openHttpOrSse(
  spec: HttpUpstreamConfig,
  context: UpstreamContext,
  events: ConnectionEvents,
  held: MemoryBudget,
): Transport {
  return new TransportSelector(spec, context, events, held).http
}

/** Listens to the handshake on Streamable HTTP. */
class TransportSelector implements TransportEvents {
  readonly http: StreamableHttpTransport
  readonly #spec: HttpUpstreamConfig
  readonly #context: UpstreamContext
  readonly #events: ConnectionEvents
  /** True while HTTP+SSE is tried, and once it is chosen: events of the other transport count no more. */
  #usesSse = false

  constructor(
    spec: HttpUpstreamConfig,
    context: UpstreamContext,
    events: ConnectionEvents,
    held: MemoryBudget,
  ) {
    this.#spec = spec
    this.#context = context
    this.#events = events
    this.http = new StreamableHttpTransport(spec, context, this, held)
  }

  received(bytes: Buffer, of: PendingRequest | undefined): void {
    if (this.#usesSse) return
    const answer = (): void => this.#events.received(bytes, of)
    if (of?.method === 'initialize' && isPostRefusal(bytes)) return this.#trySse(of, answer)
    if (of?.call !== undefined) this.http.events = this.#events
    answer()
  }

  failed(pending: PendingRequest, error: Error): void {
    if (this.#usesSse) return
    const fail = (): void => this.#events.failed(pending, error)
    const isNotServed = error instanceof GatewayError && UNSUPPORTED_STATUSES.has(error.fields.status)
    if (pending.method === 'initialize' && isNotServed) this.#trySse(pending, fail)
    else fail()
  }

  reopened(): void {
    this.#events.reopened()
  }

  closed(reason: Reason): void {
    if (!this.#usesSse) this.#events.closed(reason)
  }

  /** Asks for the event stream of HTTP+SSE; `giveUp` says what came of the POST when there is none. */
  #trySse(pending: PendingRequest, giveUp: () => void): void {
    if (!pending.open) return giveUp()
    this.#usesSse = true
    const sse = new SseTransport(this.#spec, this.#context, {
      received: bytes => this.#events.received(bytes, undefined),
      failed: (of, error) => this.#events.failed(of, error),
      reopened: () => this.#events.reopened(),
      closed: reason => {
        if (sse.hasEndpoint) return this.#events.closed(reason)
        disarm()
        this.#usesSse = false
        if (pending.open) this.#events.attachTransport(this.http)
        else void this.http.close()
        giveUp()
      },
    })
    const disarm = this.#context.clock.after(MAX_ENDPOINT_MS, () => {
      void (sse.hasEndpoint ? this.http : sse).close()
    })
    this.#events.attachTransport(sse)
    sse.request(pending, this.http.initializeParams)
  }
}

/** True for an error that names no request: the path exists, and takes no POST. */
function isPostRefusal(bytes: Buffer): boolean {
  const message = parseServerMessage(bytes)
  return message.kind === 'response' && message.id === null && message.error !== undefined
}
