import type { ServerSide, UpstreamContext } from '../../api/index.ts'
import type { HttpUpstreamConfig } from '../../config/config.gen.ts'
import { GatewayError } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { parseMessage } from '../../protocol/jsonrpc.ts'
import type { Pending, Wire, WireEvents } from '../transport.ts'
import { HttpWire } from './http-transport.ts'
import { SseWire } from './sse-transport.ts'

/** What a server that has no Streamable HTTP answers to a POST of `initialize`. */
const NOT_SERVED: ReadonlySet<unknown> = new Set([400, 404, 405])
/** How long a server may take to say that it speaks HTTP+SSE. */
const ENDPOINT_MS = 5000

/** Streamable HTTP, and HTTP+SSE where a server has nothing newer (2025-11-25, backwards compatibility). */
export class HttpOrSseWire implements Wire {
  readonly pid = undefined
  readonly #spec: HttpUpstreamConfig
  readonly #context: UpstreamContext
  readonly #events: WireEvents
  #wire: Wire
  #isOld = false
  #initialize: JsonObject | undefined

  constructor(spec: HttpUpstreamConfig, context: UpstreamContext, events: WireEvents) {
    this.#spec = spec
    this.#context = context
    this.#events = events
    this.#wire = new HttpWire(spec, context, {
      // Once the old way is tried, what is left of this one has nothing more to say.
      received: (bytes, of) => this.#isOld || this.#received(bytes, of),
      failed: (pending, error) => this.#isOld || this.#failed(pending, error),
      reopened: () => events.reopened(),
      closed: why => this.#isOld || events.closed(why),
    })
  }

  get streams(): boolean {
    return this.#wire.streams
  }

  get lastWords(): string {
    return this.#wire.lastWords
  }

  request(pending: Pending, params: JsonObject | undefined): void {
    if (pending.method === 'initialize') this.#initialize = params
    this.#wire.request(pending, params)
  }

  send(text: string): Promise<void> {
    return this.#wire.send(text)
  }

  abandon(pending: Pending): boolean {
    return this.#wire.abandon(pending)
  }

  opened(server: ServerSide): void {
    this.#wire.opened(server)
  }

  listen(): void {
    this.#wire.listen()
  }

  retire(): Promise<void> {
    return this.#wire.retire()
  }

  close(): Promise<void> {
    return this.#wire.close()
  }

  #received(bytes: Buffer, of: Pending | undefined): void {
    const answer = (): void => this.#events.received(bytes, of)
    if (of?.method === 'initialize' && isRefusalOfPost(bytes)) this.#tryOldWay(of, answer)
    else answer()
  }

  #failed(pending: Pending, error: Error): void {
    const fail = (): void => this.#events.failed(pending, error)
    const isNotServed = error instanceof GatewayError && NOT_SERVED.has(error.fields.status)
    if (pending.method === 'initialize' && isNotServed) this.#tryOldWay(pending, fail)
    else fail()
  }

  /** Asks for the event stream of HTTP+SSE; `giveUp` says what came of the POST when there is none. */
  #tryOldWay(pending: Pending, giveUp: () => void): void {
    if (!pending.open) return giveUp()
    this.#isOld = true
    void this.#wire.close()
    const over = (): void => {
      disarm()
      giveUp()
    }
    const wire = new SseWire(this.#spec, this.#context, {
      received: bytes => this.#events.received(bytes, undefined),
      failed: (of, error) => this.#events.failed(of, error),
      reopened: () => this.#events.reopened(),
      closed: why => (wire.isGreeted ? this.#events.closed(why) : over()),
    })
    const disarm = this.#context.clock.after(ENDPOINT_MS, () => {
      if (!wire.isGreeted) void wire.close()
    })
    this.#wire = wire
    wire.request(pending, this.#initialize)
  }
}

/** An error for nobody in particular: the path exists, and takes no POST. */
function isRefusalOfPost(bytes: Buffer): boolean {
  const message = parseMessage(bytes)
  return message.kind === 'response' && message.id === null && message.error !== undefined
}
