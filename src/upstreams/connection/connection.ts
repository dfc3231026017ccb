import type { Answer, Call, Clock, Notification, ServerDescription, Session } from '../../api/index.ts'
import type { GatewayError, Reason } from '../../errors/errors.ts'
import { gatewayError, getErrorMessage } from '../../errors/errors.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import type { MalformedMessage, RpcId, RpcResponse } from '../../protocol/jsonrpc.ts'
import { encodeNotification, findReplyId, parseServerMessage } from '../../protocol/jsonrpc.ts'
import { METHODS } from '../../protocol/methods.ts'
import { InFlight, RpcPeer, takeEntry } from '../../protocol/rpc-peer.ts'
import type { ConnectionEvents, ConnectionDeps, SkippedMessage, Subscription, Transport } from '../transport.ts'
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

/** Time in which a server may send requests and logs for a cancelled call without an answer. */
const CANCELLED_TTL_MS = 10_000
const MAX_CANCELLED = 1000

/** Cancelled calls that were already sent, until the server answers or their time is over. */
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

  /** True if a message may be for a cancelled call; ignores calls of the session `except`. */
  hasCallOfOthers(except?: Session): boolean {
    const now = this.#clock.now()
    for (const [id, { session, at }] of this.#calls.entries()) {
      if (now - at >= CANCELLED_TTL_MS) this.#calls.delete(id)
      else if (session !== except) return true
    }
    return false
  }
}

/** Limit for pending requests; more fail immediately. */
const MAX_PENDING = 10_000
/** Limit for pending server requests; more are refused. */
const MAX_CLIENT_REQUESTS = 1000
/** Retry delay for a caller that exceeded the limit. */
const BUSY_RETRY_MS = 1000

/** Subscription methods; a server sends no client requests for them. */
const SUBSCRIBE_METHODS: ReadonlySet<string> = new Set([
  'resources/subscribe',
  'resources/unsubscribe',
  'logging/setLevel',
])

/** One open connection to a server: matches answers to requests and dispatches other messages. */
export class Connection implements ConnectionEvents, IncomingDeps {
  transport: Transport
  /** Server description; undefined until the handshake is done. */
  server: ServerDescription | undefined = undefined
  /** Close reason; undefined while open. */
  closedBecause: Reason | undefined = undefined
  /** Start of the first line that is not JSON, before the handshake. */
  stray: string | undefined = undefined
  /** Session whose roots the server received last; undefined if the server has not asked. */
  roots: { readonly of: string | undefined } | undefined = undefined
  /** Counts the calls on this connection; a caller registers before it sends. */
  readonly use: ConnectionUse
  readonly host: ConnectionDeps<Connection>
  readonly peer = new RpcPeer<PendingRequest, ClientRequest>({
    sent: MAX_PENDING,
    received: MAX_CLIENT_REQUESTS,
  })
  readonly #requests = new IncomingRequests(this)
  readonly #notifications = new IncomingNotifications(this, this.#requests)
  readonly #cancelled: CancelledCalls
  /** How many pending requests are client calls. */
  #calls = 0
  #openedAt = 0

  constructor(host: ConnectionDeps<Connection>, connect: (events: ConnectionEvents) => Transport) {
    this.host = host
    this.use = new ConnectionUse(host.clock)
    this.#cancelled = new CancelledCalls(host.clock)
    this.transport = connect(this)
  }

  /** Sends a client's call to the server. Rejects with a GatewayError if it cannot be sent. */
  sendCall(call: Call): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const settle = (response: RpcResponse): void => {
        try {
          const answer = translateResponse(response, call, this.server)
          if ('error' in answer) this.#requests.noteVisits(answer, call.exchange)
          resolve(answer)
        } catch (error) {
          // Invalid JSON in an answer throws only when it is parsed.
          reject(error instanceof Error ? error : new Error(getErrorMessage(error)))
        }
      }
      const pending = new PendingRequest(this.peer.nextId(), call.method, call, settle, reject)
      pending.stopWatching = call.onCancel(reason => this.#cancelPending(pending, reason))
      if (pending.open) this.#startRequest(pending, createOutboundParams(call, this.server, pending.id as number))
    })
  }

  /** Sends a gateway request, e.g. for the handshake; probes have string ids. */
  sendRequest(method: string, params: JsonObject | undefined, isProbe = false): Promise<RpcResponse> {
    return new Promise((resolve, reject) => {
      const id = this.peer.nextId()
      this.#startRequest(new PendingRequest(isProbe ? `probe-${id}` : id, method, undefined, resolve, reject), params)
    })
  }

  /** Sends a gateway request that gets notifications, and one result at its end. */
  subscribe(method: string, params: JsonObject, onNotification: (notification: Notification) => void): Subscription {
    let pending: PendingRequest | undefined
    const response = new Promise<RpcResponse>((resolve, reject) => {
      pending = new PendingRequest(this.peer.nextId(), method, undefined, resolve, reject)
      pending.onNotification = onNotification
      this.#startRequest(pending, params)
    })
    return { response, end: () => pending !== undefined && this.#cancelPending(pending, 'no longer needed') }
  }

  notify(method: string, params?: JsonObject): Promise<void> {
    return this.transport.send(encodeNotification(method, params))
  }

  opened(server: ServerDescription): void {
    this.server = server
    this.#openedAt = this.host.clock.now()
    this.transport.opened(server)
  }

  get streams(): boolean {
    return this.transport.streams
  }

  getOnlyCall(): PendingRequest | undefined {
    if (this.#calls !== 1 || this.#cancelled.hasCallOfOthers()) return undefined
    return this.peer.sent.values().find(({ call }) => call !== undefined)
  }

  findAskingCalls(): readonly Call[] {
    const open = this.peer.sent.values().flatMap(({ call }) => (call && canAskClient(call.method) ? [call] : []))
    const [session, ...otherSessions] = new Set(open.map(({ exchange }) => exchange.session))
    // A cancelled call may still send requests; only its own client may get them.
    return session === undefined || otherSessions.length > 0 || this.#cancelled.hasCallOfOthers(session) ? [] : open
  }

  reply(text: string): void {
    if (this.closedBecause === undefined) void this.transport.send(text)
  }

  /** Closes the connection; pending calls fail with the reason. */
  close(reason: Reason): Promise<void> {
    this.#markClosed(reason)
    this.#failAll(reason)
    return this.transport.close()
  }

  /** Accepts no more calls. Pending calls over HTTP have their own streams and may finish. */
  retire(reason: Reason): Promise<void> {
    this.#markClosed(reason, createClosedError(this.host.name, reason).code)
    if (!this.transport.streams) return this.close(reason)
    return this.transport.retire()
  }

  closed(reason: Reason): void {
    if (this.closedBecause !== undefined) return
    this.#markClosed(reason, createClosedError(this.host.name, reason).code)
    if (!this.transport.streams) this.#failAll(reason)
    this.host.closed(this, reason)
  }

  /** Marks the connection as closed for its first reason. */
  #markClosed(reason: Reason, error?: string): void {
    if (this.closedBecause !== undefined) return
    this.closedBecause = reason
    if (this.server === undefined) return
    const ms = this.host.clock.now() - this.#openedAt
    const { name, clients } = this.host
    clients.reportSessionEnd?.({ peer: 'server', name, version: this.server.version, ms, reason: reason.why, error })
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
      // An error while passing on a message must not close the connection for other clients.
      this.host.log.error('forwarding a message failed', { why: getErrorMessage(error), cause: error })
    }
  }

  /** Fails the request with this answer, or the only pending one; other requests continue. */
  skipped({ head, tail, limit, key }: SkippedMessage): void {
    const { name, drops } = this.host
    drops.count('oversize', () => head.toString('utf8', 0, 400))
    const id = findReplyId(head, tail)
    if (id === undefined) return
    const pending = id === null ? this.#getOnlyPending() : this.peer.findSent(id)
    if (pending === undefined) return
    const what = `a reply from upstream "${name}" (see its ${key})`
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
    // Send delayed progress before the answer.
    pending.progress?.flush()
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
    // A modern HTTP server detects the cancellation by the closed stream (2026-07-28, cancellation).
    if (wasSent && !(this.transport.streams && this.server?.era === 'modern'))
      void this.notify('notifications/cancelled', { requestId: pending.id, reason })
    pending.resolve(createCancelledResponse(pending.id))
  }

  /** Answers server requests for an abandoned call, so that the server can finish it. */
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
    const pending = response.id === null && response.error !== undefined ? of : this.peer.findSent(response.id)
    if (pending === undefined || !pending.open || (of !== undefined && of !== pending)) {
      if (response.id !== null) this.#cancelled.removeCall(response.id)
      return this.host.drops.count('response')
    }
    this.#removePending(pending)
    pending.resolve(response)
  }

  /** A malformed answer fails its request immediately; the connection stays open. */
  #rejectMalformed({ error }: MalformedMessage, bytes: Buffer, of: PendingRequest | undefined): void {
    const { name: upstream, drops } = this.host
    if (this.server === undefined) this.stray ??= bytes.toString('utf8', 0, 200)
    drops.countGarbage(bytes)
    const pending = this.peer.findSent(findReplyId(bytes))
    if (pending === undefined || (of !== undefined && of !== pending)) return
    const list = dropNestedEntries(pending.method, bytes, this.server?.era)
    if (list !== undefined) this.#settleResponse(list, of)
    else this.failed(pending, gatewayError('GW_UPSTREAM_PROTOCOL', { upstream, why: error.message }))
  }
}

/** Counts the calls on one connection, from selection to answer. */
class ConnectionUse {
  readonly startedAt = Date.now()
  inFlight = 0
  /** Last answer time. */
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

  /** Resolves when no call uses the connection. */
  waitUntilFree(): Promise<void> {
    return this.inFlight > 0 ? new Promise(resolve => this.#freed.push(resolve)) : Promise.resolve()
  }

  /** Idle since; undefined while in use. */
  get idleSince(): number | undefined {
    return this.inFlight > 0 ? undefined : this.endedAt
  }
}

/** Returns true if a server may send requests to the client during this method. */
function canAskClient(method: string): boolean {
  return METHODS.get(method)?.to !== 'list' && !SUBSCRIBE_METHODS.has(method)
}

/** Creates the error for a request whose connection closed. */
export function createClosedError(upstream: string, reason: Reason): GatewayError {
  return reason.error ?? gatewayError('GW_UPSTREAM_CLOSED', { upstream, ...reason })
}

/** Creates the error for too many pending requests. */
function createFullError(upstream: string, waiting: number): GatewayError {
  const why = `${waiting} requests are pending`
  return gatewayError('GW_UPSTREAM_BUSY', { upstream, why, retryAfterMs: BUSY_RETRY_MS })
}
