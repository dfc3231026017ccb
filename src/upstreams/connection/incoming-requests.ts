import type {
  Answer,
  Ask,
  AskReply,
  Call,
  Exchange,
  Notification,
  ServerDescription,
  Session,
} from '../../api/index.ts'
import { callerKey } from '../../api/principal.ts'
import { getErrorMessage } from '../../errors/errors.ts'
import { adaptReply } from '../../protocol/era/client-requests.ts'
import { findMissingCapabilities, normalizeCapabilities } from '../../protocol/era/capabilities.ts'
import { getRelatedTask } from '../../protocol/era/convert.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject, stringifyJson } from '../../protocol/json/json.ts'
import type { RpcId, RpcRequest } from '../../protocol/jsonrpc.ts'
import { encodeError, encodeResult } from '../../protocol/jsonrpc.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import type { RpcPeer } from '../../protocol/rpc-peer.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import type { ConnectionDeps, PendingRequest } from '../transport.ts'

const CLIENT_METHODS: ReadonlySet<string> = new Set(['elicitation/create', 'sampling/createMessage', 'roots/list'])
const AMBIGUOUS_REASON =
  'ambiguous client: calls from several clients share this connection; set isolation: session or limits.concurrency: 1 for this upstream'
/** Limits for pending URL elicitations; the oldest are dropped first. */
const MAX_VISITS = { max: 1000, share: 100 }

/** The connection that receives server requests. */
export interface IncomingDeps {
  readonly host: ConnectionDeps
  /** Pending requests in both directions. */
  readonly peer: RpcPeer<PendingRequest, ClientRequest>
  /** True if each request has its own stream. */
  readonly streams: boolean
  readonly server: ServerDescription | undefined
  /** Session whose roots the server received last; undefined if the server has not asked. */
  roots: { readonly of: string | undefined } | undefined
  /** The only pending call, if exactly one is pending. */
  getOnlyCall(): PendingRequest | undefined
  /** Open calls that may have caused a server request; none if several clients have open calls. */
  findAskingCalls(): readonly Call[]
  reply(text: string): void
}

/** A pending request from a server to a client. */
export class ClientRequest implements Ask {
  readonly method: string
  readonly params: JsonObject | undefined
  /** Its call; undefined for requests outside calls. */
  readonly exchange: Exchange | undefined
  isCancelled = false
  readonly #listeners: ((reason: string) => void)[] = []

  constructor({ method, params }: RpcRequest, exchange: Exchange | undefined) {
    this.method = method
    this.params = params
    this.exchange = exchange
  }

  onCancel(listener: (reason: string) => void): void {
    this.#listeners.push(listener)
  }

  cancel(reason: string): void {
    this.isCancelled = true
    for (const listener of this.#listeners.splice(0)) listener(reason)
  }
}

/** Requests from a legacy server: answered here, refused, or sent to their call's client. */
export class IncomingRequests {
  readonly #connection: IncomingDeps
  readonly #elicitations = new UrlElicitations()
  /** Exchanges that have asked their client. */
  readonly #requesting = new WeakSet<Exchange>()
  #hasWarned = false

  constructor(connection: IncomingDeps) {
    this.#connection = connection
  }

  /** Handles a request; `of` is its stream's call, if known. */
  handleRequest(request: RpcRequest, of: PendingRequest | undefined): void {
    const { host, peer, server } = this.#connection
    const { id, method } = request
    // A modern server sends no requests, and its clients no responses.
    if (server?.era === 'modern') return host.drops.count('request')
    if (method === 'ping') return this.#sendReply(id, { result: {} })
    if (!CLIENT_METHODS.has(method)) return this.#refuseRequest(id, RPC.methodNotFound, 'Method not found')
    if (peer.received.has(id)) return host.drops.count('request')
    // After the answer, no client is left for a request.
    const exchange = of === undefined ? this.#findCall(request) : of.open ? of.call?.exchange : undefined
    this.#acceptRequest(request, exchange)
  }

  /** The server cancelled its request. */
  handleCancelled(id: unknown): void {
    const request = this.#connection.peer.takeReceived(id)
    if (request === undefined) this.#connection.host.drops.count('cancellation')
    else request.cancel('cancelled by the server')
  }

  /** Cancels requests to this exchange's client: the server gets an answer, the client a cancellation. */
  cancelRequests(exchange: Exchange, reason: string): void {
    const { peer } = this.#connection
    for (const [id, request] of peer.received.entries()) {
      if (request.exchange !== exchange || !peer.settleReceived(id, request)) continue
      if (request.method === 'elicitation/create') this.#sendReply(id, { result: { action: 'cancel' } })
      else this.#refuseRequest(id, RPC.internal, reason)
      request.cancel(reason)
    }
  }

  /** Records URL elicitations in an answer; they may complete later. */
  noteVisits(answer: Answer, exchange: Exchange): void {
    if ('error' in answer && answer.error.code === RPC.legacyUrlElicitation)
      this.#elicitations.addVisits(answer.error.data, exchange)
  }

  handleVisitCompleted(notification: Notification): void {
    const { host, peer } = this.#connection
    const openAs = (id: number): Exchange | undefined =>
      peer.sent.values().find(({ call }) => call?.exchange.id === id)?.call?.exchange
    if (!this.#elicitations.completeVisit(notification, openAs)) host.drops.count('completion')
  }

  #acceptRequest(request: RpcRequest, exchange: Exchange | undefined): void {
    const { host, peer } = this.#connection
    const { id, method } = request
    const mayBeNobodys = method === 'roots/list' && host.listRoots !== undefined
    if (exchange === undefined && !mayBeNobodys) return this.#refuseUnassigned(id, method)
    const made = new ClientRequest(request, exchange)
    if (peer.addReceived(id, made) === 'taken') void this.#passRequest(id, made)
    else this.#refuseRequest(id, RPC.internal, 'too many pending requests')
  }

  /** Finds a request's call if its stream does not identify it. */
  #findCall(request: RpcRequest): Exchange | undefined {
    const exchange = this.#findTaskExchange(request.params) ?? this.#findOnlyExchange(request)
    const isOfClient =
      request.method === 'roots/list' &&
      exchange !== undefined &&
      this.#connection.host.isOnlyClient?.(exchange.session) === true
    // Servers ask for roots in the background; a finished call must not cancel that request.
    return isOfClient ? undefined : exchange
  }

  /** Finds the call that waits for the task that a request names (2025-11-25, tasks). */
  #findTaskExchange(params: JsonObject | undefined): Exchange | undefined {
    const taskId = getRelatedTask(params)
    if (taskId === undefined) return undefined
    const waits = ({ call }: PendingRequest): boolean =>
      call?.method === 'tasks/result' && call.params?.taskId === taskId
    return this.#connection.peer.sent.values().find(waits)?.call?.exchange
  }

  #findOnlyExchange(request: RpcRequest): Exchange | undefined {
    const calls = this.#connection.findAskingCalls()
    // Most calls send one request, in the order in which they were sent.
    const exchange = (calls.find(call => !this.#requesting.has(call.exchange)) ?? calls[0])?.exchange
    return exchange !== undefined && canBelongTo(exchange, request) ? exchange : undefined
  }

  async #passRequest(id: RpcId, request: ClientRequest): Promise<void> {
    const reply = await this.#askClient(request).catch((error: unknown) => ({
      error: rpcError(RPC.internal, getErrorMessage(error)),
    }))
    if (!this.#connection.peer.settleReceived(id, request)) return
    if (reply === undefined) this.#replyWithoutRoots(id)
    else this.#sendReply(id, this.#toServerReply(request.method, reply))
  }

  async #askClient(request: ClientRequest): Promise<AskReply | undefined> {
    const { host } = this.#connection
    const { exchange, method, params } = request
    if (exchange === undefined) return this.#listRoots(request)
    this.#requesting.add(exchange)
    if (method === 'roots/list') this.#connection.roots = { of: exchange.session.id }
    if (method === 'elicitation/create') this.#elicitations.addVisit(params, exchange)
    return host.clients.ask(request, exchange)
  }

  /** Asks a client for its roots outside a call; undefined if the client is unknown. */
  async #listRoots(request: ClientRequest): Promise<AskReply | undefined> {
    const rootsRequest = this.#connection.host.listRoots?.(request)
    this.#connection.roots ??= { of: undefined }
    const listed = await rootsRequest
    if (listed !== undefined && 'result' in listed.reply) this.#connection.roots = { of: listed.session.id }
    return listed?.reply
  }

  /** Converts a reply to the server's protocol version. */
  #toServerReply(method: string, reply: AskReply): AskReply {
    const version = this.#connection.server?.version
    if (!('result' in reply) || version === undefined) return reply
    return { result: adaptReply(method, reply.result, version) }
  }

  /** Replies to a server that asks for roots when no client is known to be the only one. */
  #replyWithoutRoots(id: RpcId): void {
    this.#connection.host.drops.count('ask')
    this.#sendReply(id, { result: { roots: [] } })
  }

  #refuseUnassigned(id: RpcId, method: string): void {
    const { drops, log } = this.#connection.host
    drops.count('ask')
    if (!this.#hasWarned) {
      this.#hasWarned = true
      log.warn('server request refused', { method, why: AMBIGUOUS_REASON })
    }
    this.#refuseRequest(id, RPC.internal, AMBIGUOUS_REASON)
  }

  #refuseRequest(id: RpcId, code: number, reason: string): void {
    this.#sendReply(id, { error: rpcError(code, reason) })
  }

  #sendReply(id: RpcId, reply: AskReply): void {
    this.#connection.reply(
      'error' in reply
        ? encodeError(id, reply.error)
        : encodeResult(id, Buffer.from(stringifyJson(reply.result, reply.result))).toString(),
    )
  }
}

/**
 * True if a request may go to the only open call. Not for roots, which servers request in the background, nor
 * undeclared capabilities on a modern client, whose call would fail.
 */
function canBelongTo({ session }: Exchange, { method, params }: RpcRequest): boolean {
  if (findMissingCapabilities(normalizeCapabilities(session.client), method, params) === undefined) return true
  return method !== 'roots/list' && session.client.era === 'legacy'
}

interface UrlElicitation {
  readonly session: Session
  /** Exchange id, so that the exchange is not retained in memory. */
  readonly exchange: number
}

/** Tracks clients by URL elicitation, so that only they are notified when it completes (2025-11-25). */
export class UrlElicitations {
  readonly #elicitations = new BoundedMap<string, UrlElicitation>(MAX_VISITS)

  /** Records a URL request, or an elicitation from an error. */
  addVisit(elicitation: JsonObject | undefined, { id, session }: Exchange): void {
    const elicitationId = elicitation?.elicitationId
    if (typeof elicitationId === 'string')
      this.#elicitations.set(elicitationId, { session, exchange: id }, callerKey(session))
  }

  /** Records all elicitations in a "URL elicitation required" error. */
  addVisits(data: unknown, exchange: Exchange): void {
    const elicitations = isObject(data) && Array.isArray(data.elicitations) ? data.elicitations : []
    for (const elicitation of elicitations.slice(0, MAX_VISITS.share))
      if (isObject(elicitation)) this.addVisit(elicitation, exchange)
  }

  /**
   * Notifies an elicitation's client: on its exchange's stream if open, otherwise outside. Returns false for an
   * unknown id. Modern clients retry on their own instead.
   */
  completeVisit(notification: Notification, open: (exchange: number) => Exchange | undefined): boolean {
    const id = notification.params?.elicitationId
    const pending = typeof id === 'string' ? this.#elicitations.get(id) : undefined
    if (pending === undefined) return false
    this.#elicitations.delete(id as string)
    if (pending.session.client.era === 'modern') return true
    const exchange = open(pending.exchange)
    if (exchange === undefined) pending.session.notify(notification)
    else exchange.emit(notification)
    return true
  }
}
