import type { Answer, Call, Exchange, Notification } from '../core/ports.ts'
import { lacking, neutralCapabilities } from '../protocol/era/capabilities.ts'
import type { JsonObject, RpcNotification, RpcRequest } from '../protocol/jsonrpc.ts'
import { RPC } from '../protocol/rpc-error.ts'
import type { Era } from '../protocol/versions.ts'
import { Asks } from './asks.ts'
import { Elicitations } from './elicitations.ts'
import type { InFlight } from './in-flight.ts'
import type { LinkHost } from './link.ts'
import { clientToken, isGlobal, subscriptionOf, withoutSubscription } from './outbound.ts'
import type { Pending } from './wire.ts'

/** Whose mail it is. */
export interface InboxOwner {
  readonly host: LinkHost
  readonly pending: InFlight<Pending>
  /** Whether each request has a stream of its own. */
  readonly streams: boolean
  readonly era: Era | undefined
  /** The client's call that waits for its answer, when there is exactly one. */
  onlyCall(): Call | undefined
  send(text: string): void
}

/** What a server says unasked: notifications and requests go to the client they belong to, or nowhere. */
export class Inbox {
  readonly #owner: InboxOwner
  readonly #asks: Asks
  readonly #elicitations = new Elicitations()

  constructor(owner: InboxOwner) {
    this.#owner = owner
    const { host } = owner
    this.#asks = new Asks(
      host.drops,
      (ask, exchange) => {
        if (ask.method === 'elicitation/create') this.#elicitations.note(ask.params, exchange)
        return host.ask(ask, exchange)
      },
      text => owner.send(text),
    )
  }

  /** Remembers what an answer makes us expect. */
  answered(answer: Answer, exchange: Exchange): void {
    if ('error' in answer && answer.error.code === RPC.legacyUrlElicitation)
      this.#elicitations.noteAll(answer.error.data, exchange)
  }

  /** A request of a server. `of` is the request on whose stream it came. */
  asked(request: RpcRequest, of: Pending | undefined): void {
    // A modern server has no requests, and its clients no responses.
    if (this.#owner.era === 'modern') return this.#owner.host.drops.count('request')
    // Behind its answer a request has nobody left to ask.
    if (of !== undefined) return this.#asks.asked(request, of.open ? of.call?.exchange : undefined)
    this.#asks.asked(request, this.#likely(request))
  }

  /** The only call there is. Servers ask for roots in the background, so one whose client has none is not meant. */
  #likely({ method, params }: RpcRequest): Exchange | undefined {
    const exchange = this.#owner.onlyCall()?.exchange
    if (exchange === undefined || method !== 'roots/list') return exchange
    const neutral = neutralCapabilities(exchange.session.client)
    return lacking(neutral, method, params) === undefined ? exchange : undefined
  }

  told({ method, params }: RpcNotification, of: Pending | undefined): void {
    if (method === 'notifications/progress') return this.#progressed(params, of)
    const owner = of ?? this.#subscribed(method, params)
    if (owner?.hear !== undefined) return owner.hear({ method, params: withoutSubscription(params) })
    if (method === 'notifications/cancelled') return this.#cancelled(params)
    this.#pass({ method, params }, of)
  }

  #pass(notification: Notification, of: Pending | undefined): void {
    const { method } = notification
    if (method === 'notifications/message') this.#logged(notification, of)
    else if (method === 'notifications/elicitation/complete') this.#completed(notification)
    else if (of?.call === undefined || isGlobal(method)) this.#owner.host.notify(notification)
    else of.call.exchange.emit(notification)
  }

  #progressed(params: JsonObject | undefined, of: Pending | undefined): void {
    const token = params?.progressToken
    const pending = typeof token === 'number' ? this.#owner.pending.get(token) : undefined
    const known = clientToken(pending?.call?.params)
    if (known === undefined || (of !== undefined && of !== pending))
      return this.#owner.host.drops.count('progress')
    pending?.call?.exchange.emit({
      method: 'notifications/progress',
      params: { ...params, progressToken: known },
    })
  }

  #cancelled(params: JsonObject | undefined): void {
    if (!this.#asks.cancelled(params?.requestId)) this.#owner.host.drops.count('cancellation')
  }

  /** A log goes where its request came from: by its stream, or as the only call on a pipe. */
  #logged(notification: Notification, of: Pending | undefined): void {
    const { streams, host } = this.#owner
    const call = of !== undefined || streams ? of?.call : this.#owner.onlyCall()
    if (call === undefined) host.drops.count('message')
    else call.exchange.emit(notification)
  }

  #completed(notification: Notification): void {
    const openAs = (id: number): Exchange | undefined =>
      this.#owner.pending.values().find(({ call }) => call?.exchange.id === id)?.call?.exchange
    if (!this.#elicitations.complete(notification, openAs)) this.#owner.host.drops.count('completion')
  }

  /** The subscription a notification names, on a pipe that all share. */
  #subscribed(method: string, params: JsonObject | undefined): Pending | undefined {
    const { streams, era, pending } = this.#owner
    if (streams || era !== 'modern') return undefined
    const id = subscriptionOf(method, params)
    const owner = typeof id === 'number' ? pending.get(id) : undefined
    return owner?.hear === undefined ? undefined : owner
  }
}
