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
import { getRelatedTask } from '../../protocol/era/tasks.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject, stringifyJson } from '../../protocol/json/json.ts'
import type { RpcId, RpcRequest } from '../../protocol/jsonrpc.ts'
import { encodeError, encodeResult } from '../../protocol/jsonrpc.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import type { RpcPeer } from '../../protocol/rpc-peer.ts'
import { BoundedMap } from '../../util/bounded-map.ts'
import type { ConnectionDeps, PendingRequest } from '../transport.ts'

const CLIENT_METHODS: ReadonlySet<string> = new Set([
  'elicitation/create',
  'sampling/createMessage',
  'roots/list',
])
const AMBIGUOUS_REASON =
  'the gateway cannot tell which client this request is for: calls of several clients share its connection; set isolation: session or limits.concurrency: 1 for this upstream'
/** Visits to a URL that may still be completed; the oldest are forgotten first. */
const MAX_VISITS = { max: 1000, share: 100 }

/** The connection that a server's own messages come by. */
export interface IncomingDeps {
  readonly host: ConnectionDeps
  /** The requests under way, in both directions. */
  readonly peer: RpcPeer<PendingRequest, ClientRequest>
  /** True where each request has a stream of its own. */
  readonly streams: boolean
  readonly server: ServerDescription | undefined
  /** The session whose roots the server was sent last; undefined while it has not asked. */
  roots: { readonly of: string | undefined } | undefined
  /** The client's call that waits for its answer, when there is exactly one. */
  getOnlyCall(): PendingRequest | undefined
  /** An open call whose client a request of the server is for; undefined if calls of several clients are open. */
  findAskingCall(): Call | undefined
  reply(text: string): void
}

/** A server's request under way to a client. */
export class ClientRequest implements Ask {
  readonly method: string
  readonly params: JsonObject | undefined
  /** The call that it belongs to; undefined where it is of none. */
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

/** Requests of a legacy server to its clients: answered here, refused, or given to the client of the call they belong to. */
export class IncomingRequests {
  readonly #connection: IncomingDeps
  readonly #visits = new UrlElicitations()
  #hasWarned = false

  constructor(side: IncomingDeps) {
    this.#connection = side
  }

  /** Takes a request; `of` is the call on whose stream it came, where streams tell. */
  handleRequest(request: RpcRequest, of: PendingRequest | undefined): void {
    const { host, peer, server } = this.#connection
    const { id, method } = request
    // A modern server has no requests, and its clients no responses.
    if (server?.era === 'modern') return host.drops.count('request')
    if (method === 'ping') return this.#sendReply(id, { result: {} })
    if (!CLIENT_METHODS.has(method)) return this.#refuseRequest(id, RPC.methodNotFound, 'Method not found')
    if (peer.received.has(id)) return host.drops.count('request')
    // Behind its answer a request has nobody left to ask.
    const exchange = of === undefined ? this.#findCall(request) : of.open ? of.call?.exchange : undefined
    this.#acceptRequest(request, exchange)
  }

  /** The server no longer wants to know. */
  handleCancelled(id: unknown): void {
    const request = this.#connection.peer.takeReceived(id)
    if (request === undefined) this.#connection.host.drops.count('cancellation')
    else request.cancel('the server no longer wants to know')
  }

  /** Ends the wait for the client of this exchange: the server gets an answer, the client a cancellation. */
  cancelRequests(exchange: Exchange, why: string): void {
    const { peer } = this.#connection
    for (const [id, request] of peer.received.entries()) {
      if (request.exchange !== exchange || !peer.settleReceived(id, request)) continue
      if (request.method === 'elicitation/create') this.#sendReply(id, { result: { action: 'cancel' } })
      else this.#refuseRequest(id, RPC.internal, why)
      request.cancel(why)
    }
  }

  /** An answer may send the user to a URL, whose visit is completed later. */
  noteVisits(answer: Answer, exchange: Exchange): void {
    if ('error' in answer && answer.error.code === RPC.legacyUrlElicitation)
      this.#visits.addVisits(answer.error.data, exchange)
  }

  /** A user is done at a URL. */
  handleVisitCompleted(notification: Notification): void {
    const { host, peer } = this.#connection
    const openAs = (id: number): Exchange | undefined =>
      peer.sent.values().find(({ call }) => call?.exchange.id === id)?.call?.exchange
    if (!this.#visits.completeVisit(notification, openAs)) host.drops.count('completion')
  }

  #acceptRequest(request: RpcRequest, exchange: Exchange | undefined): void {
    const { host, peer } = this.#connection
    const { id, method } = request
    const mayBeNobodys = method === 'roots/list' && host.listRoots !== undefined
    if (exchange === undefined && !mayBeNobodys) return this.#refuseUnassigned(id, method)
    const made = new ClientRequest(request, exchange)
    if (peer.addReceived(id, made) === 'taken') void this.#passRequest(id, made)
    else this.#refuseRequest(id, RPC.internal, 'too many requests wait for their reply')
  }

  /** The call that a request belongs to, where its stream does not say. */
  #findCall(request: RpcRequest): Exchange | undefined {
    const exchange = this.#findTaskExchange(request.params) ?? this.#findOnlyExchange(request)
    const isOfClient =
      request.method === 'roots/list' &&
      exchange !== undefined &&
      this.#connection.host.isOnlyClient?.(exchange.session) === true
    // Roots are asked for in the background: a call that ends must not take the question with it.
    return isOfClient ? undefined : exchange
  }

  /** The call that waits for the result of the task that a request says it belongs to (2025-11-25, tasks). */
  #findTaskExchange(params: JsonObject | undefined): Exchange | undefined {
    const taskId = getRelatedTask(params)
    if (taskId === undefined) return undefined
    const waits = ({ call }: PendingRequest): boolean =>
      call?.method === 'tasks/result' && call.params?.taskId === taskId
    return this.#connection.peer.sent.values().find(waits)?.call?.exchange
  }

  /** The only call there is. */
  #findOnlyExchange(request: RpcRequest): Exchange | undefined {
    const exchange = this.#connection.findAskingCall()?.exchange
    return exchange !== undefined && canBelongTo(exchange, request) ? exchange : undefined
  }

  async #passRequest(id: RpcId, request: ClientRequest): Promise<void> {
    const reply = await this.#askClient(request).catch((error: unknown) => ({
      error: rpcError(RPC.internal, getErrorMessage(error)),
    }))
    if (!this.#connection.peer.settleReceived(id, request)) return
    if (reply === undefined) this.#refuseUnassigned(id, request.method)
    else this.#sendReply(id, this.#toServerReply(request.method, reply))
  }

  /** Gives a request to its client. */
  async #askClient(request: ClientRequest): Promise<AskReply | undefined> {
    const { host } = this.#connection
    const { exchange, method, params } = request
    if (exchange === undefined) return this.#listRoots(request)
    if (method === 'roots/list') this.#connection.roots = { of: exchange.session.id }
    if (method === 'elicitation/create') this.#visits.addVisit(params, exchange)
    return host.clients.ask(request, exchange)
  }

  /** Asks a client for its roots outside any call; undefined where there is no telling which. */
  async #listRoots(request: ClientRequest): Promise<AskReply | undefined> {
    const asked = this.#connection.host.listRoots?.(request)
    this.#connection.roots ??= { of: undefined }
    const listed = await asked
    if (listed !== undefined && 'result' in listed.reply) this.#connection.roots = { of: listed.session.id }
    return listed?.reply
  }

  /** A reply in the form of the server's version. */
  #toServerReply(method: string, reply: AskReply): AskReply {
    const version = this.#connection.server?.version
    if (!('result' in reply) || version === undefined) return reply
    return { result: adaptReply(method, reply.result, version) }
  }

  #refuseUnassigned(id: RpcId, method: string): void {
    const { drops, log } = this.#connection.host
    drops.count('ask')
    // Servers ask for roots in the background.
    if (!this.#hasWarned && method !== 'roots/list') {
      this.#hasWarned = true
      log.warn('a request of the server was refused', { method, why: AMBIGUOUS_REASON })
    }
    this.#refuseRequest(id, RPC.internal, AMBIGUOUS_REASON)
  }

  #refuseRequest(id: RpcId, code: number, why: string): void {
    this.#sendReply(id, { error: rpcError(code, why) })
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
 * Decides if a request goes to the only call there is. A modern client that did not declare it would lose its call, and servers
 * ask for roots in the background: neither happens to a call that may not be meant.
 */
function canBelongTo({ session }: Exchange, { method, params }: RpcRequest): boolean {
  if (findMissingCapabilities(normalizeCapabilities(session.client), method, params) === undefined)
    return true
  return method !== 'roots/list' && session.client.era === 'legacy'
}

interface UrlElicitation {
  readonly session: Session
  /** The exchange by its number: it need not be kept alive until the user is done. */
  readonly exchange: number
}

/** Remembers which client was sent to a URL, so that it alone hears when its user is done there (2025-11-25). */
export class UrlElicitations {
  readonly #visits = new BoundedMap<string, UrlElicitation>(MAX_VISITS)

  /** Notes a request by URL, or one of the visits that an error asks for. */
  addVisit(elicitation: JsonObject | undefined, { id, session }: Exchange): void {
    const known = elicitation?.elicitationId
    if (typeof known === 'string') this.#visits.set(known, { session, exchange: id }, callerKey(session))
  }

  /** Notes all visits that a "URL elicitation required" error asks for. */
  addVisits(data: unknown, exchange: Exchange): void {
    const elicitations = isObject(data) && Array.isArray(data.elicitations) ? data.elicitations : []
    for (const elicitation of elicitations.slice(0, MAX_VISITS.share))
      if (isObject(elicitation)) this.addVisit(elicitation, exchange)
  }

  /**
   * Notifies the client that was sent there: on the stream of its exchange while that is open, else beside it. False for an
   * id of nobody. The modern era has no such notification; its clients come back by themselves.
   */
  completeVisit(notification: Notification, open: (exchange: number) => Exchange | undefined): boolean {
    const id = notification.params?.elicitationId
    const visit = typeof id === 'string' ? this.#visits.get(id) : undefined
    if (visit === undefined) return false
    this.#visits.delete(id as string)
    if (visit.session.client.era === 'modern') return true
    const exchange = open(visit.exchange)
    if (exchange === undefined) visit.session.notify(notification)
    else exchange.emit(notification)
    return true
  }
}
