import type {
  Answer,
  Call,
  Clock,
  Exchange,
  Notification,
  ServerDescription,
  Session,
} from '../../api/index.ts'
import type { GatewayError, Reason } from '../../errors/errors.ts'
import { gatewayError, getErrorMessage } from '../../errors/errors.ts'
import { findReplyId, findSkippedReplyId } from '../../protocol/broken-message.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import type { MalformedMessage, RpcId, RpcResponse } from '../../protocol/jsonrpc.ts'
import { encodeNotification, parseServerMessage } from '../../protocol/jsonrpc.ts'
import { METHODS } from '../../protocol/methods.ts'
import { InFlight, RpcPeer, takeEntry } from '../../protocol/rpc-peer.ts'
import type {
  ConnectionEvents,
  ConnectionDeps,
  SkippedMessage,
  Subscription,
  Transport,
} from '../transport.ts'
import { PendingRequest } from '../transport.ts'
import { IncomingNotifications } from './incoming-notifications.ts'
import type { ClientRequest, IncomingDeps } from './incoming-requests.ts'
import { IncomingRequests } from './incoming-requests.ts'
import {
  translateResponse,
  createCancelledResponse,
  createOutboundParams,
  dropNestedEntries,
} from './translate-call.ts'

/** Time in which a server may still send requests and logs for a cancelled call that it does not answer. */
const CANCELLED_TTL_MS = 10_000
const MAX_CANCELLED = 1000

/** Calls that were cancelled after they were sent, until the server answers them or their time is over. */
class CancelledCalls {
  readonly #clock: Clock
  readonly #calls = new InFlight<{ readonly session: Session; readonly at: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  add(id: RpcId, session: Session): void {
    const [oldest] = this.#calls.size < MAX_CANCELLED ? [] : this.#calls.entries()
    if (oldest !== undefined) this.#calls.delete(oldest[0])
    this.#calls.set(id, { session, at: this.#clock.now() })
  }

  removeCall(id: RpcId): void {
    takeEntry(this.#calls, id)
  }

  /** True if a message may be for one of them; those of the session `except` do not count. */
  hasCallOfOthers(except?: Session): boolean {
    const now = this.#clock.now()
    for (const [id, { session, at }] of this.#calls.entries()) {
      if (now - at >= CANCELLED_TTL_MS) this.#calls.delete(id)
      else if (session !== except) return true
    }
    return false
  }
}

/** Requests that wait for their answer at once; more fail at once. */
const MAX_PENDING = 10_000
/** Requests of the server that wait for their reply at once; more are refused. */
const MAX_CLIENT_REQUESTS = 1000
/** When a caller may come again that found too many others waiting. */
const BUSY_RETRY_MS = 1000

/** Methods by which a client subscribes: they never make a server ask. */
const SUBSCRIBE_METHODS: ReadonlySet<string> = new Set([
  'resources/subscribe',
  'resources/unsubscribe',
  'logging/setLevel',
])

/** One live connection to a server: matches answers to requests, and takes everything else where it belongs. */
export class Connection implements ConnectionEvents, IncomingDeps {
  transport: Transport
  /** The server's description of itself; undefined until the handshake is done. */
  server: ServerDescription | undefined = undefined
  /** Why it closed; undefined while it is open. */
  closedBecause: Reason | undefined = undefined
  /** The beginning of the first line that was no message, before it said who it is. */
  stray: string | undefined = undefined
  /** The session whose roots the server was sent last, if any was; undefined while it has not asked. */
  roots: { readonly of: string | undefined } | undefined = undefined
  /** The calls that use it; a caller takes hold of it first. */
  readonly use: ConnectionUse
  readonly host: ConnectionDeps<Connection>
  readonly peer = new RpcPeer<PendingRequest, ClientRequest>({
    sent: MAX_PENDING,
    received: MAX_CLIENT_REQUESTS,
  })
  readonly #requests = new IncomingRequests(this)
  readonly #notifications = new IncomingNotifications(this, this.#requests)
  /** On a stream that all share, where a message may be of any of them. */
  /** Exchanges to which a request of the server was attributed. */
  readonly #asked = new WeakSet<Exchange>()
  readonly #cancelled: CancelledCalls
  /** Clients' calls among the requests that wait. */
  #calls = 0

  constructor(host: ConnectionDeps<Connection>, connect: (events: ConnectionEvents) => Transport) {
    this.host = host
    this.use = new ConnectionUse(host.clock)
    this.#cancelled = new CancelledCalls(host.clock)
    this.transport = connect(this)
  }

  /** Passes a client's call to the server. Rejects with a GatewayError when it could not be asked. */
  sendCall(call: Call): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const settle = (response: RpcResponse): void => {
        try {
          const answer = translateResponse(response, call, this.server)
          if ('error' in answer) this.#requests.noteVisits(answer, call.exchange)
          resolve(answer)
        } catch (error) {
          // An answer that is no valid JSON shows only when it is read.
          reject(error instanceof Error ? error : new Error(getErrorMessage(error)))
        }
      }
      const pending = new PendingRequest(this.peer.nextId(), call.method, call, settle, reject)
      pending.stopWatching = call.onCancel(reason => this.#cancelPending(pending, reason))
      if (pending.open)
        this.#startRequest(pending, createOutboundParams(call, this.server, pending.id as number))
    })
  }

  /** A request of our own, such as the handshake; a probe has a string for its id. */
  sendRequest(method: string, params: JsonObject | undefined, isProbe = false): Promise<RpcResponse> {
    return new Promise((resolve, reject) => {
      const id = this.peer.nextId()
      this.#startRequest(
        new PendingRequest(isProbe ? `probe-${id}` : id, method, undefined, resolve, reject),
        params,
      )
    })
  }

  /** A request of our own that is answered with notifications, and with a result only when it ends. */
  subscribe(
    method: string,
    params: JsonObject,
    onNotification: (notification: Notification) => void,
  ): Subscription {
    let pending: PendingRequest | undefined
    const ended = new Promise<RpcResponse>((resolve, reject) => {
      pending = new PendingRequest(this.peer.nextId(), method, undefined, resolve, reject)
      pending.onNotification = onNotification
      this.#startRequest(pending, params)
    })
    return { ended, end: () => pending !== undefined && this.#cancelPending(pending, 'no longer needed') }
  }

  notify(method: string, params?: JsonObject): Promise<void> {
    return this.transport.send(encodeNotification(method, params))
  }

  opened(server: ServerDescription): void {
    this.server = server
    this.transport.opened(server)
  }

  get streams(): boolean {
    return this.transport.streams
  }

  getOnlyCall(): PendingRequest | undefined {
    if (this.#calls !== 1 || this.#cancelled.hasCallOfOthers()) return undefined
    return this.peer.sent.values().find(({ call }) => call !== undefined)
  }

  findAskingCall(): Call | undefined {
    const open = this.peer.sent
      .values()
      .flatMap(({ call }) => (call && canAskClient(call.method) ? [call] : []))
    const [first, ...more] = open
    const session = first?.exchange.session
    if (session === undefined || more.some(({ exchange }) => exchange.session !== session)) return undefined
    // A cancelled call may still ask; only its own client can be asked then.
    if (this.#cancelled.hasCallOfOthers(session)) return undefined
    // Most calls ask once, in the order in which they were sent.
    const asking = open.find(({ exchange }) => !this.#asked.has(exchange)) ?? first
    if (asking !== undefined) this.#asked.add(asking.exchange)
    return asking
  }

  reply(text: string): void {
    if (this.closedBecause === undefined) void this.transport.send(text)
  }

  /** Ends the connection; every call that waits for its answer fails with the reason. */
  close(reason: Reason): Promise<void> {
    this.closedBecause ??= reason
    this.#failAll(reason)
    return this.transport.close()
  }

  /** Takes no more calls. Those that are under way over HTTP have streams of their own, and may end by themselves. */
  retire(reason: Reason): Promise<void> {
    if (!this.transport.streams) return this.close(reason)
    this.closedBecause ??= reason
    return this.transport.retire()
  }

  closed(reason: Reason): void {
    if (this.closedBecause !== undefined) return
    this.closedBecause = reason
    if (!this.transport.streams) this.#failAll(reason)
    this.host.closed(this, reason)
  }

  attachTransport(transport: Transport): void {
    this.transport = transport
  }

  reopened(): void {
    if (this.closedBecause === undefined) this.host.missed(this)
  }

  failed(pending: PendingRequest, error: Error): void {
    if (!pending.open) return
    this.#removePending(pending)
    pending.reject(error)
  }

  received(bytes: Buffer, of: PendingRequest | undefined): void {
    if (this.closedBecause !== undefined && !this.transport.streams) return
    try {
      this.#takePending(bytes, of)
    } catch (error) {
      // Whatever goes wrong on the way to a client must not end the connection of all the others.
      this.host.log.error('a message could not be passed on', { why: getErrorMessage(error), cause: error })
    }
  }

  /** Fails the request that it answers, or the only one there is; all others live on. */
  skipped({ head, tail, limit, key }: SkippedMessage): void {
    const { name, drops } = this.host
    drops.count('oversize', () => head.toString('utf8', 0, 400))
    const id = findSkippedReplyId(head, tail)
    if (id === undefined) return
    const pending = id === null ? this.#getOnlyPending() : this.peer.findSent(id)
    if (pending === undefined) return
    const what = `a reply of upstream "${name}" (see its ${key})`
    this.failed(pending, gatewayError('GW_TOO_LARGE', { what, limit }))
  }

  #getOnlyPending(): PendingRequest | undefined {
    return this.peer.sent.size === 1 ? this.peer.sent.first() : undefined
  }

  #takePending(bytes: Buffer, of: PendingRequest | undefined): void {
    const message = parseServerMessage(bytes, this.server?.era)
    if (message.kind === 'response') this.#settleResponse(message, of)
    else if (message.kind === 'request') this.#requests.handleRequest(message, of)
    else if (message.kind === 'notification') this.#notifications.handleNotification(message, of)
    else this.#rejectMalformed(message, bytes, of)
  }

  #startRequest(pending: PendingRequest, params: JsonObject | undefined): void {
    try {
      if (this.closedBecause !== undefined) throw createClosedError(this.host.name, this.closedBecause)
      if (!this.peer.addSent(pending.id, pending)) throw createFullError(this.host.name, MAX_PENDING)
      if (pending.call !== undefined) this.#calls++
      this.transport.request(pending, params)
    } catch (error) {
      this.#removePending(pending)
      pending.reject(error instanceof Error ? error : new Error(getErrorMessage(error)))
    }
  }

  #removePending(pending: PendingRequest): void {
    pending.open = false
    pending.stopWatching?.()
    // The newest progress that was held back goes out before the answer.
    pending.progress?.flush()
    pending.messages?.flush()
    if (this.peer.sent.get(pending.id) === pending) {
      this.peer.sent.delete(pending.id)
      if (pending.call !== undefined) this.#calls--
    }
  }

  #cancelPending(pending: PendingRequest, reason: string): void {
    if (!pending.open) return
    const wasSent = this.peer.sent.has(pending.id) && !this.transport.abandon(pending)
    if (wasSent && pending.call !== undefined) this.#answerAbandoned(pending, pending.call, reason)
    this.#removePending(pending)
    // A modern HTTP server learns it by the end of the stream alone (2026-07-28, cancellation).
    if (wasSent && !(this.transport.streams && this.server?.era === 'modern'))
      void this.notify('notifications/cancelled', { requestId: pending.id, reason })
    pending.resolve(createCancelledResponse(pending.id))
  }

  /** Answers what the server asked for a call that nobody waits for, so that it can end it. */
  #answerAbandoned({ id }: PendingRequest, { exchange }: Call, reason: string): void {
    if (!this.transport.streams) this.#cancelled.add(id, exchange.session)
    this.#requests.cancelRequests(exchange, reason)
  }

  #failAll(reason: Reason): void {
    for (const pending of this.peer.sent.values()) {
      this.failed(pending, createClosedError(this.host.name, reason))
      this.transport.abandon(pending)
    }
  }

  #settleResponse(response: RpcResponse, of: PendingRequest | undefined): void {
    const pending =
      response.id === null && response.error !== undefined ? of : this.peer.findSent(response.id)
    if (pending === undefined || !pending.open || (of !== undefined && of !== pending)) {
      if (response.id !== null) this.#cancelled.removeCall(response.id)
      return this.host.drops.count('response')
    }
    this.#removePending(pending)
    pending.resolve(response)
  }

  /** A reply that is refused fails its call at once, wherever its id stands, and leaves nothing; the connection lives on. */
  #rejectMalformed({ error }: MalformedMessage, bytes: Buffer, of: PendingRequest | undefined): void {
    const { name: upstream, drops } = this.host
    if (this.server === undefined) this.stray ??= bytes.toString('utf8', 0, 200)
    const pending = this.peer.findSent(findReplyId(bytes))
    if (pending === undefined || (of !== undefined && of !== pending)) return drops.countGarbage(bytes)
    const list = dropNestedEntries(pending.method, bytes, this.server?.era, drops)
    if (list !== undefined) return this.#settleResponse(list, of)
    drops.countGarbage(bytes)
    this.failed(pending, gatewayError('GW_UPSTREAM_PROTOCOL', { upstream, why: error.message }))
  }
}

/** The calls that use one connection, from the moment they have chosen it until they are answered. */
class ConnectionUse {
  /** Milliseconds since 1970. */
  readonly startedAt = Date.now()
  inFlight = 0
  /** When the last call was answered; clock time. */
  endedAt: number
  readonly #clock: Clock
  #freed: (() => void)[] = []

  constructor(clock: Clock) {
    this.#clock = clock
    this.endedAt = clock.now()
  }

  acquire(): void {
    this.inFlight++
  }

  release(): void {
    if (--this.inFlight > 0) return
    this.endedAt = this.#clock.now()
    if (this.#freed.length > 0) for (const resolve of this.#freed.splice(0)) resolve()
  }

  /** Resolves when no call uses the connection any more. */
  waitUntilFree(): Promise<void> {
    return this.inFlight > 0 ? new Promise(resolve => this.#freed.push(resolve)) : Promise.resolve()
  }

  /** Start of the idle time; undefined while in use. */
  get idleSince(): number | undefined {
    return this.inFlight > 0 ? undefined : this.endedAt
  }
}

/** Tells if a server may ask the client while it carries out this method. */
function canAskClient(method: string): boolean {
  return METHODS.get(method)?.to !== 'list' && !SUBSCRIBE_METHODS.has(method)
}

/** The failure of a request whose connection has ended. */
export function createClosedError(upstream: string, reason: Reason): GatewayError {
  return reason.error ?? gatewayError('GW_UPSTREAM_CLOSED', { upstream, ...reason })
}

/** The failure of a request for which too many others wait already. */
function createFullError(upstream: string, waiting: number): GatewayError {
  const why = `${waiting} calls wait for it already`
  return gatewayError('GW_UPSTREAM_BUSY', { upstream, why, retryAfterMs: BUSY_RETRY_MS })
}
