import type { Answer, Ask, AskReply, Call, Exchange, Log, Notification, ServerSide } from '../core/ports.ts'
import { gatewayError, reasonOf } from '../errors.ts'
import {
  encodeNotification,
  parseMessage,
  type JsonObject,
  type Malformed,
  type RpcId,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
} from '../protocol/jsonrpc.ts'
import { answerOf, cancelled } from './answer.ts'
import { Asks } from './asks.ts'
import { Drops } from './drops.ts'
import { clientToken, isGlobal, outboundParams, subscriptionOf, withoutSubscription } from './outbound.ts'
import { onlyCall, Pending, type Subscription, type Wire, type WireEvents } from './wire.ts'

/** What a link needs from its upstream. */
export interface LinkHost {
  readonly name: string
  readonly log: Log
  notify(notification: Notification): void
  ask(ask: Ask, exchange: Exchange | undefined): Promise<AskReply>
  /** The link is of no more use. Calls that are under way over HTTP still end by themselves. */
  closed(link: Link, why: string): void
}

/** Requests that wait for their answer at once; more fail at once. */
const MAX_PENDING = 10_000

/** One live connection to a server: matches answers to requests, and sends everything else where it belongs. */
export class Link implements WireEvents {
  readonly wire: Wire
  /** What the server said of itself; undefined until the handshake is done. */
  server: ServerSide | undefined = undefined
  /** Why it closed; undefined while it is open. */
  closedBecause: string | undefined = undefined
  readonly #host: LinkHost
  readonly #drops: Drops
  readonly #asks: Asks
  readonly #pending = new Map<RpcId, Pending>()
  #lastId = 0

  constructor(host: LinkHost, connect: (events: WireEvents) => Wire) {
    this.#host = host
    this.#drops = new Drops(host.log)
    this.#asks = new Asks(
      (ask, exchange) => host.ask(ask, exchange),
      text => this.closedBecause === undefined && void this.wire.send(text),
    )
    this.wire = connect(this)
  }

  /** Passes a client's call to the server. Rejects with a GatewayError when it could not be asked. */
  async call(call: Call): Promise<Answer> {
    const response = await new Promise<RpcResponse>((resolve, reject) => {
      const pending = new Pending(++this.#lastId, call.method, call, resolve, reject)
      pending.takeBack = call.onCancel(reason => this.#cancel(pending, reason))
      if (!pending.open) return
      this.#request(pending, outboundParams(call, this.server, pending.id as number))
    })
    return answerOf(response)
  }

  /** A request of our own, such as the handshake; a probe has a string for its id. */
  ask(method: string, params: JsonObject | undefined, isProbe = false): Promise<RpcResponse> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId
      this.#request(new Pending(isProbe ? `probe-${id}` : id, method, undefined, resolve, reject), params)
    })
  }

  /** A request of our own that is answered with notifications, and with a result only when it ends. */
  subscribe(method: string, params: JsonObject, hear: (notification: Notification) => void): Subscription {
    let pending: Pending | undefined
    const ended = new Promise<RpcResponse>((resolve, reject) => {
      pending = new Pending(++this.#lastId, method, undefined, resolve, reject)
      pending.hear = hear
      this.#request(pending, params)
    })
    return { ended, end: () => pending !== undefined && this.#cancel(pending, 'no longer needed') }
  }

  notify(method: string, params?: JsonObject): Promise<void> {
    return this.wire.send(encodeNotification(method, params))
  }

  opened(server: ServerSide): void {
    this.server = server
    this.wire.opened(server)
  }

  /** Ends the link; whoever still waits for an answer is told why. */
  close(why: string): Promise<void> {
    this.closedBecause ??= why
    this.#failAll(why)
    return this.wire.close()
  }

  /** Takes no more calls. Those that are under way over HTTP have streams of their own, and may end by themselves. */
  retire(why: string): Promise<void> {
    if (!this.wire.streams) return this.close(why)
    this.closedBecause ??= why
    return this.wire.retire()
  }

  closed(why: string): void {
    if (this.closedBecause !== undefined) return
    this.closedBecause = why
    if (!this.wire.streams) this.#failAll(why)
    this.#host.closed(this, why)
  }

  failed(pending: Pending, error: Error): void {
    if (!pending.open) return
    this.#forget(pending)
    pending.reject(error)
  }

  received(bytes: Buffer, of: Pending | undefined): void {
    if (this.closedBecause !== undefined && !this.wire.streams) return
    try {
      this.#heard(bytes, of)
    } catch (error) {
      // Whatever goes wrong on the way to a client must not end the link of all the others.
      this.#host.log.error('a message could not be passed on', { why: reasonOf(error), cause: error })
    }
  }

  #heard(bytes: Buffer, of: Pending | undefined): void {
    const message = parseMessage(bytes, this.server?.era)
    if (message.kind === 'response') this.#answered(message, of)
    else if (message.kind === 'notification') this.#told(message, of)
    else if (message.kind === 'request') this.#asked(message, of)
    else this.#malformed(message, bytes, of)
  }

  #request(pending: Pending, params: JsonObject | undefined): void {
    try {
      if (this.closedBecause !== undefined) throw this.#closedError(this.closedBecause)
      if (this.#pending.size >= MAX_PENDING) {
        const why = `${MAX_PENDING} calls wait for it already`
        throw gatewayError('GW_UPSTREAM_DOWN', { upstream: this.#host.name, why })
      }
      this.#pending.set(pending.id, pending)
      this.wire.request(pending, params)
    } catch (error) {
      this.#forget(pending)
      pending.reject(error instanceof Error ? error : new Error(reasonOf(error)))
    }
  }

  #forget(pending: Pending): void {
    pending.open = false
    pending.takeBack?.()
    if (this.#pending.get(pending.id) === pending) this.#pending.delete(pending.id)
  }

  #cancel(pending: Pending, reason: string): void {
    if (!pending.open) return
    const wasSent = this.#pending.has(pending.id)
    this.#forget(pending)
    if (wasSent) {
      // A modern HTTP server is told by the end of the stream alone (2026-07-28, cancellation).
      if (!(this.wire.streams && this.server?.era === 'modern'))
        void this.notify('notifications/cancelled', { requestId: pending.id, reason })
      this.wire.abandon(pending)
    }
    pending.resolve(cancelled(pending.id))
  }

  #failAll(why: string): void {
    for (const pending of [...this.#pending.values()]) {
      this.failed(pending, this.#closedError(why))
      this.wire.abandon(pending)
    }
  }

  #closedError(why: string): Error {
    return gatewayError('GW_UPSTREAM_CLOSED', { upstream: this.#host.name, why })
  }

  #answered(response: RpcResponse, of: Pending | undefined): void {
    const pending =
      response.id === null && response.error !== undefined ? of : this.#pending.get(response.id ?? '')
    if (pending === undefined || !pending.open || (of !== undefined && of !== pending))
      return this.#drops.count('response')
    this.#forget(pending)
    pending.resolve(response)
  }

  #malformed(message: Malformed, bytes: Buffer, of: Pending | undefined): void {
    this.#drops.count('garbage', () => bytes.toString('utf8', 0, 400))
    const pending = message.id === null ? undefined : this.#pending.get(message.id)
    if (pending === undefined || (of !== undefined && of !== pending)) return
    this.failed(
      pending,
      gatewayError('GW_UPSTREAM_PROTOCOL', { upstream: this.#host.name, why: message.error.message }),
    )
  }

  #told(notification: RpcNotification, of: Pending | undefined): void {
    const { method, params } = notification
    if (method === 'notifications/progress') return this.#progressed(params)
    const owner = of ?? this.#subscribed(method, params)
    if (owner?.hear !== undefined) return owner.hear({ method, params: withoutSubscription(params) })
    if (method === 'notifications/cancelled') return
    if (method === 'notifications/message') return this.#logged({ method, params }, this.#exchangeOf(of))
    if (of?.call === undefined || isGlobal(method)) this.#host.notify({ method, params })
    else of.call.exchange.emit({ method, params })
  }

  #progressed(params: JsonObject | undefined): void {
    const token = params?.progressToken
    const pending = typeof token === 'number' ? this.#pending.get(token) : undefined
    const known = clientToken(pending?.call?.params)
    if (known === undefined) return this.#drops.count('progress')
    pending?.call?.exchange.emit({
      method: 'notifications/progress',
      params: { ...params, progressToken: known },
    })
  }

  #logged(notification: Notification, exchange: Exchange | undefined): void {
    if (exchange === undefined) this.#drops.count('message')
    else exchange.emit(notification)
  }

  /** The subscription a notification names, on a pipe that all share. */
  #subscribed(method: string, params: JsonObject | undefined): Pending | undefined {
    if (this.wire.streams || this.server?.era !== 'modern') return undefined
    const id = subscriptionOf(method, params)
    const pending = typeof id === 'number' ? this.#pending.get(id) : undefined
    return pending?.hear === undefined ? undefined : pending
  }

  /** The exchange that a message belongs to: by its stream, or as the only call there is. */
  #exchangeOf(of: Pending | undefined): Exchange | undefined {
    if (of !== undefined || this.wire.streams) return of?.call?.exchange
    return onlyCall(this.#pending.values())?.exchange
  }

  #asked(request: RpcRequest, of: Pending | undefined): void {
    // A modern server has no requests, and its clients no responses.
    if (this.server?.era === 'modern') this.#drops.count('request')
    else this.#asks.asked(request, this.#exchangeOf(of))
  }
}
