import type { Answer, Ask, AskReply, Call, Exchange, Notification } from '../../api/index.ts'
import { lacking, neutralCapabilities } from '../../protocol/era/capabilities.ts'
import { relatedTask } from '../../protocol/era/tasks.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import type { RpcNotification, RpcRequest } from '../../protocol/jsonrpc.ts'
import { RPC } from '../../protocol/rpc-error.ts'
import type { Era } from '../../protocol/versions.ts'
import type { InFlight } from '../../transport/id-map.ts'
import type { Scheduler } from '../serialization/scheduler.ts'
import type { LinkHost, Pending } from '../transport.ts'
import { Asks, type PassedAsk } from './incoming-requests.ts'
import { clientToken, isGlobal, subscriptionOf, withoutSubscription } from './outbound-params.ts'
import { ProgressLimit } from './progress-limit.ts'
import { Elicitations } from './url-elicitations.ts'

/** Whose mail it is. */
export interface InboxOwner {
  readonly host: LinkHost
  readonly pending: InFlight<Pending>
  /** Whether each request has a stream of its own. */
  readonly streams: boolean
  readonly era: Era | undefined
  /** Schedules the calls where all share one stream on which the server may ask. */
  readonly scheduler: Scheduler | undefined
  /** The client's call that waits for its answer, when there is exactly one. */
  onlyCall(): Call | undefined
  send(text: string): void
  /** The server is told the roots of a session. */
  toldRoots(session: string): void
  /** Asks a client for its roots outside any call; undefined where there is no telling which. Absent where none can be asked. */
  listRoots?: ((ask: Ask) => Promise<AskReply | undefined>) | undefined
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
      async ask => {
        const { scheduler } = owner
        const { exchange } = ask
        if (exchange === undefined) return owner.listRoots?.(ask)
        if (ask.method === 'roots/list') owner.toldRoots(exchange.session.id)
        if (ask.method === 'elicitation/create') this.#elicitations.note(ask.params, exchange)
        return scheduler === undefined ? host.ask(ask, exchange) : this.#askAlone(ask, exchange, scheduler)
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
    const whose = (): Exchange | undefined =>
      of === undefined ? this.#callOf(request) : of.open ? of.call?.exchange : undefined
    const isOfClient = request.method === 'roots/list' && this.#owner.listRoots !== undefined
    this.#asks.asked(request, whose, isOfClient)
  }

  /** The call that a request belongs to, where its stream does not say. */
  #callOf(request: RpcRequest): Exchange | undefined {
    const exchange = this.#waitingFor(request.params) ?? this.#likely(request)
    const isOfClient =
      request.method === 'roots/list' &&
      exchange !== undefined &&
      this.#owner.host.isOnlyClient?.(exchange.session) === true
    // Roots are asked for in the background: a call that ends must not take the question with it.
    return isOfClient ? undefined : exchange
  }

  /** Who waits for the result of the task that a request says it belongs to (2025-11-25, tasks). */
  #waitingFor(params: JsonObject | undefined): Exchange | undefined {
    const taskId = relatedTask(params)
    if (taskId === undefined) return undefined
    const waits = ({ call }: Pending): boolean =>
      call?.method === 'tasks/result' && call.params?.taskId === taskId
    return this.#owner.pending.values().find(waits)?.call?.exchange
  }

  /** Whether the server waits for a reply of this exchange's client. */
  isAsked(exchange: Exchange): boolean {
    return this.#asks.isAsked(exchange)
  }

  /** Takes back what the server asked the client of this exchange. */
  takeBack(exchange: Exchange, why: string): void {
    this.#asks.takeBack(exchange, why)
  }

  /** The only call there is. */
  #likely(request: RpcRequest): Exchange | undefined {
    const { scheduler } = this.#owner
    const pending = scheduler?.only(request.method)
    const call = scheduler === undefined ? this.#owner.onlyCall() : pending?.call
    if (call === undefined) scheduler?.refused(request.method)
    else if (isMeant(call.exchange, request, pending !== undefined && scheduler?.asks(pending) === true))
      return call.exchange
    return undefined
  }

  /** The call goes on alone, so that what it asks next can be told apart as well. */
  async #askAlone(ask: PassedAsk, exchange: Exchange, scheduler: Scheduler): Promise<AskReply> {
    scheduler.asked(ask.method, exchange)
    try {
      return await this.#owner.host.ask(ask, exchange)
    } finally {
      await scheduler.resumes(exchange)
    }
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
    if (pending === undefined || known === undefined || (of !== undefined && of !== pending))
      return this.#owner.host.drops.count('progress')
    pending.progress ??= this.#progressOf(pending)
    pending.progress.add({ ...params, progressToken: known })
  }

  #progressOf({ call }: Pending): ProgressLimit {
    const { clock, drops } = this.#owner.host
    return new ProgressLimit(
      clock,
      params => call?.exchange.emit({ method: 'notifications/progress', params }),
      () => drops.count('excess_progress'),
    )
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

/**
 * Whether a request goes to the only call there is. A modern client that did not declare it would lose its call, and servers
 * ask for roots in the background: neither happens to a call that is not known to ask.
 */
function isMeant({ session }: Exchange, { method, params }: RpcRequest, asks: boolean): boolean {
  if (lacking(neutralCapabilities(session.client), method, params) === undefined) return true
  return method !== 'roots/list' && (asks || session.client.era === 'legacy')
}
