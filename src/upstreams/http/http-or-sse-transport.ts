import type { UpstreamContext } from '../../api/index.ts'
import type { HttpUpstreamConfig } from '../../config/config.gen.ts'
import type { Reason } from '../../errors/errors.ts'
import { GatewayError } from '../../errors/errors.ts'
import { parseServerMessage } from '../../protocol/jsonrpc.ts'
import type { MemoryBudget } from '../../net/backlog.ts'
import type { ConnectionEvents, PendingRequest, Transport, TransportEvents } from '../transport.ts'
import { StreamableHttpTransport } from './http-transport.ts'
import { SseTransport } from './sse-transport.ts'

/** Statuses with which a server without Streamable HTTP rejects a POST of `initialize`. */
const UNSUPPORTED_STATUSES: ReadonlySet<unknown> = new Set([400, 404, 405])
/** Timeout for the HTTP+SSE `endpoint` event. */
const MAX_ENDPOINT_MS = 5000

/**
 * Opens Streamable HTTP. If `initialize` fails like on an older server, falls back to HTTP+SSE (2025-11-25, backwards
 * compatibility). The choice is final with the first answer to a call.
 */
export function openHttpOrSse(
  spec: HttpUpstreamConfig,
  context: UpstreamContext,
  events: ConnectionEvents,
  memory: MemoryBudget,
): Transport {
  return new TransportSelector(spec, context, events, memory).http
}

/** Observes the handshake over Streamable HTTP. */
class TransportSelector implements TransportEvents {
  readonly http: StreamableHttpTransport
  readonly #spec: HttpUpstreamConfig
  readonly #context: UpstreamContext
  readonly #events: ConnectionEvents
  /** True while HTTP+SSE is tried, and after it is chosen: ignore events from the other transport. */
  #usesSse = false

  constructor(spec: HttpUpstreamConfig, context: UpstreamContext, events: ConnectionEvents, memory: MemoryBudget) {
    this.#spec = spec
    this.#context = context
    this.#events = events
    this.http = new StreamableHttpTransport(spec, context, this, memory)
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
    const reportFailure = (): void => this.#events.failed(pending, error)
    const isNotServed = error instanceof GatewayError && UNSUPPORTED_STATUSES.has(error.fields.status)
    if (pending.method === 'initialize' && isNotServed) this.#trySse(pending, reportFailure)
    else reportFailure()
  }

  reopened(): void {
    this.#events.reopened()
  }

  closed(reason: Reason): void {
    if (!this.#usesSse) this.#events.closed(reason)
  }

  /** Opens the HTTP+SSE event stream; without one, `giveUp` reports the POST result. */
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

/** True for an error without a request id: the path exists but accepts no POST. */
function isPostRefusal(bytes: Buffer): boolean {
  const message = parseServerMessage(bytes)
  return message.kind === 'response' && message.id === null && message.error !== undefined
}
