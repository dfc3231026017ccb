import type { ListedRoots, Answer, AskReply, Call, Notification, ServerSide } from '../../api/index.ts'
import { gatewayError, reasonOf } from '../../errors/errors.ts'
import { replyIdOf } from '../../protocol/broken-message.ts'
import { type JsonObject, isObject } from '../../protocol/json/json.ts'
import { type Malformed, type RpcResponse, encodeNotification, parseMessage } from '../../protocol/jsonrpc.ts'
import type { Era } from '../../protocol/versions.ts'
import { InFlight } from '../../transport/id-map.ts'
import { CancelledCalls } from '../serialization/cancelled-calls.ts'
import { Scheduler } from '../serialization/scheduler.ts'
import { type LinkHost, Pending, type Subscription, type Wire, type WireEvents } from '../transport.ts'
import { closedError, fullError } from './connection-errors.ts'
import { Inbox, type InboxOwner } from './inbound.ts'
import { outboundParams } from './outbound-params.ts'
import { answerOf, cancelled } from './read-answer.ts'
import { shortenedList } from './shortened-list.ts'
import { LinkUse } from './usage.ts'

/** Requests that wait for their answer at once; more fail at once. */
const MAX_PENDING = 10_000
/** Capabilities of a client by which a server may ask it. */
const ASKABLE = ['elicitation', 'sampling', 'roots']

/** One live connection to a server: matches answers to requests, and sends everything else where it belongs. */
export class Link implements WireEvents {
  readonly wire: Wire
  /** What the server said of itself; undefined until the handshake is done. */
  server: ServerSide | undefined = undefined
  /** Why it closed; undefined while it is open. */
  closedBecause: string | undefined = undefined
  /** The beginning of the first line that was no message, before it said who it is. */
  stray: string | undefined = undefined
  /** The session whose roots the server was told last, if any was; undefined while it has not asked. */
  roots: { readonly of: string | undefined } | undefined = undefined
  /** Who uses it; whoever calls takes hold of it first. */
  readonly use: LinkUse
  readonly #host: LinkHost<Link>
  readonly #pending = new InFlight<Pending>()
  readonly #inbox: Inbox
  /** On a stream that all share, where a message may be of any of them. */
  readonly #cancelled: CancelledCalls
  /** Where all share one stream on which the server may ask. */
  #scheduler: Scheduler | undefined
  #lastId = 0
  /** How many of them are clients' calls. */
  #calls = 0

  constructor(host: LinkHost<Link>, connect: (events: WireEvents) => Wire) {
    this.#host = host
    this.use = new LinkUse(host.clock)
    this.#cancelled = new CancelledCalls(host.clock, () => this.#scheduler?.cancelledGone())
    this.wire = connect(this)
    this.#inbox = new Inbox(this.#inboxOwner())
  }

  /** Passes a client's call to the server. Rejects with a GatewayError when it could not be asked. */
  call(call: Call): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const settle = (response: RpcResponse): void => {
        try {
          const answer = answerOf(response, call, this.server)
          if ('error' in answer) this.#inbox.answered(answer, call.exchange)
          resolve(answer)
        } catch (error) {
          // What is no JSON shows when it is looked into.
          reject(error instanceof Error ? error : new Error(reasonOf(error)))
        }
      }
      const pending = new Pending(++this.#lastId, call.method, call, settle, reject)
      pending.takeBack = call.onCancel(reason => this.#cancel(pending, reason))
      if (pending.open && this.#scheduler?.holds(pending) !== true) this.#pass(pending, call)
    })
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

  /** The server has introduced itself, and knows what its clients can be asked for. */
  opened(server: ServerSide, told: JsonObject = {}): void {
    this.server = server
    this.wire.opened(server)
    if (this.wire.streams || server.era === 'modern' || !ASKABLE.some(what => isObject(told[what]))) return
    this.#scheduler = this.#newScheduler()
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

  reopened(): void {
    if (this.closedBecause === undefined) this.#host.missed(this)
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
    else if (message.kind === 'notification') this.#inbox.told(message, of)
    else if (message.kind === 'request') this.#inbox.asked(message, of)
    else this.#malformed(message, bytes, of)
  }

  #pass(pending: Pending, call: Call): void {
    this.#request(pending, outboundParams(call, this.server, pending.id as number))
  }

  #request(pending: Pending, params: JsonObject | undefined): void {
    try {
      if (this.closedBecause !== undefined) throw closedError(this.#host.name, this.closedBecause)
      if (this.#pending.size >= MAX_PENDING) throw fullError(this.#host.name, MAX_PENDING)
      this.#pending.set(pending.id, pending)
      if (pending.call !== undefined) this.#calls++
      this.wire.request(pending, params)
    } catch (error) {
      this.#forget(pending)
      pending.reject(error instanceof Error ? error : new Error(reasonOf(error)))
    }
  }

  #forget(pending: Pending): void {
    pending.open = false
    pending.takeBack?.()
    // The newest progress that was held back is heard before the answer.
    pending.progress?.flush()
    if (this.#pending.get(pending.id) === pending) {
      this.#pending.delete(pending.id)
      if (pending.call !== undefined) this.#calls--
    }
    if (pending.behaviour !== undefined) this.#scheduler?.ended(pending)
  }

  #cancel(pending: Pending, reason: string): void {
    if (!pending.open) return
    const wasSent = this.#pending.has(pending.id) && !this.wire.abandon(pending)
    if (wasSent && pending.call !== undefined) this.#givenUp(pending, pending.call, reason)
    this.#forget(pending)
    // A modern HTTP server is told by the end of the stream alone (2026-07-28, cancellation).
    if (wasSent && !(this.wire.streams && this.server?.era === 'modern'))
      void this.notify('notifications/cancelled', { requestId: pending.id, reason })
    pending.resolve(cancelled(pending.id))
  }

  /** What its server asked is answered, so that it can end what nobody waits for. */
  #givenUp({ id, behaviour }: Pending, { exchange }: Call, reason: string): void {
    if (!this.wire.streams) this.#cancelled.add(id, behaviour, exchange.session)
    this.#inbox.takeBack(exchange, reason)
  }

  #failAll(why: string): void {
    const waiting = this.#scheduler?.end() ?? []
    this.#scheduler = undefined
    this.#cancelled.clear()
    for (const pending of [...this.#pending.values(), ...waiting]) {
      this.failed(pending, closedError(this.#host.name, why))
      this.wire.abandon(pending)
    }
  }

  #answered(response: RpcResponse, of: Pending | undefined): void {
    const pending =
      response.id === null && response.error !== undefined ? of : this.#pending.get(response.id ?? '')
    if (pending === undefined || !pending.open || (of !== undefined && of !== pending)) {
      if (response.id !== null) this.#cancelled.answered(response.id)
      return this.#host.drops.count('response')
    }
    this.#scheduler?.answered(pending, response)
    this.#forget(pending)
    pending.resolve(response)
  }

  /** A reply that is refused fails its call at once, wherever its id stands; the connection lives on. */
  #malformed({ error }: Malformed, bytes: Buffer, of: Pending | undefined): void {
    const { name: upstream, drops } = this.#host
    if (this.server === undefined) this.stray ??= bytes.toString('utf8', 0, 200)
    const pending = this.#pending.get(replyIdOf(bytes) ?? '')
    if (pending === undefined || (of !== undefined && of !== pending)) return drops.garbage(bytes)
    const list = shortenedList(pending.method, bytes, this.server?.era, drops)
    if (list !== undefined) return this.#answered(list, of)
    drops.garbage(bytes)
    this.failed(pending, gatewayError('GW_UPSTREAM_PROTOCOL', { upstream, why: error.message }))
  }

  #newScheduler(): Scheduler {
    const { clock, log, behaviours } = this.#host
    return new Scheduler({
      clock,
      log,
      behaviours,
      cancelled: this.#cancelled,
      go: pending => {
        if (pending.call !== undefined) this.#pass(pending, pending.call)
      },
      refuse: pending => this.failed(pending, fullError(this.#host.name, MAX_PENDING)),
      sent: () => this.#pending.values(),
      isAsked: exchange => this.#inbox.isAsked(exchange),
      takeBack: (exchange, why) => this.#inbox.takeBack(exchange, why),
    })
  }

  async #listRoots(asked: Promise<ListedRoots | undefined>): Promise<AskReply | undefined> {
    this.roots ??= { of: undefined }
    const listed = await asked
    if (listed !== undefined && 'result' in listed.reply) this.roots = { of: listed.of.id }
    return listed?.reply
  }

  #inboxOwner(): InboxOwner {
    const { listRoots } = this.#host
    const eraOf = (): Era | undefined => this.server?.era
    const scheduler = (): Scheduler | undefined => this.#scheduler
    // What carries the link may turn out to be another once the server has answered.
    const streams = (): boolean => this.wire.streams
    return {
      host: this.#host,
      pending: this.#pending,
      get streams() {
        return streams()
      },
      get era() {
        return eraOf()
      },
      get scheduler() {
        return scheduler()
      },
      onlyCall: () =>
        this.#calls === 1 && this.#cancelled.size === 0
          ? this.#pending.values().find(({ call }) => call !== undefined)?.call
          : undefined,
      listRoots: listRoots && (ask => this.#listRoots(listRoots(ask))),
      toldRoots: of => (this.roots = { of }),
      send: text => {
        if (this.closedBecause === undefined) void this.wire.send(text)
      },
    }
  }
}
