import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import type { AddressInfo, Server, Socket } from 'node:net'
import { connect, createServer } from 'node:net'
import type { RpcId } from '../protocol/jsonrpc.ts'
import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import { HEADER, META, METHODS, MODERN_VERSION, negotiateLegacy } from '../protocol/methods.ts'
import type { RpcError } from '../protocol/rpc-error.ts'
import { RPC, rpcError } from '../protocol/rpc-error.ts'
import type { Offer } from './upstream-offer.ts'
import type { TestUpstreamState } from './upstream-state.ts'
import { CancellableCall, writeEvent } from './upstream-state.ts'

interface PostContext {
  readonly call: CancellableCall
  readonly response: ServerResponse
  readonly offer: Offer
  readonly state: TestUpstreamState
}

const EVENT_STREAM = { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }

/** Answers one HTTP request to a test upstream, in either era. */
export async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  offer: Offer,
  state: TestUpstreamState,
): Promise<void> {
  const headers = request.headers as Record<string, string | undefined>
  const session = headers[HEADER.session]
  if (request.method === 'GET') return openStream(response, session, state)
  if (request.method === 'DELETE') {
    if (session !== undefined) state.closeSession(session)
    response.writeHead(200).end()
    return
  }
  const message = JSON.parse(await text(request)) as { method: string; params?: JsonObject; id?: RpcId }
  const call = new CancellableCall(message, headers)
  response.once('close', () => {
    if (!response.writableEnded) call.cancel()
  })
  state.record(call)
  if (call.id === undefined) response.writeHead(202).end()
  else await (isModern(call) ? respondModern : respondLegacy)({ call, response, offer, state })
}

function isModern({ params }: CancellableCall): boolean {
  return isObject(params?._meta) && META.protocolVersion in params._meta
}

function openStream(response: ServerResponse, session: string | undefined, state: TestUpstreamState): void {
  if (!state.hasSession(session)) {
    response.writeHead(session === undefined ? 405 : 404).end()
    return
  }
  response.writeHead(200, EVENT_STREAM).flushHeaders()
  state.addStream({ response, carries: () => true })
}

async function respondLegacy(post: PostContext): Promise<void> {
  const { call, offer, state } = post
  if (offer.options.era === 'modern') {
    sendError(
      post,
      400,
      rpcError(RPC.unsupportedVersion, 'Unsupported protocol version', {
        supported: [MODERN_VERSION],
        requested: call.params?.protocolVersion ?? '',
      }),
    )
    return
  }
  if (call.method === 'initialize') {
    const session = randomUUID()
    state.addSession(session)
    post.response.setHeader(HEADER.session, session)
    const { instructions } = offer.options
    sendResult(post, {
      protocolVersion: negotiateLegacy(call.params?.protocolVersion),
      capabilities: offer.capabilities,
      serverInfo: offer.info,
      ...(instructions === undefined ? {} : { instructions }),
    })
    return
  }
  const session = call.headers[HEADER.session]
  if (!state.hasSession(session)) {
    const [status, code] = session === undefined ? [400, RPC.legacyBadRequest] : [404, RPC.legacyNoSession]
    sendError(post, status, rpcError(code, session === undefined ? 'Bad Request: no session' : 'Session not found'))
    return
  }
  await respondWithOffer(post, result => result)
}

async function respondModern(post: PostContext): Promise<void> {
  const { call, offer } = post
  if (offer.options.era === 'legacy') {
    sendError(post, 400, rpcError(RPC.legacyBadRequest, 'Bad Request: server not initialized'))
    return
  }
  if (call.headers[HEADER.version] !== MODERN_VERSION || call.headers[HEADER.method] !== call.method) {
    sendError(post, 400, rpcError(RPC.headerMismatch, 'Header mismatch'))
    return
  }
  if (call.method === 'server/discover') {
    const { instructions } = offer.options
    sendResult(
      post,
      completeResult(post, {
        supportedVersions: [MODERN_VERSION],
        capabilities: offer.capabilities,
        ...(instructions === undefined ? {} : { instructions }),
      }),
    )
    return
  }
  if (call.method === 'subscriptions/listen') openListenStream(post)
  else await respondWithOffer(post, result => completeResult(post, result))
}

function openListenStream({ call, response, state }: PostContext): void {
  const filter = isObject(call.params?.notifications) ? call.params.notifications : {}
  const methods = new Set(
    ['tools', 'prompts', 'resources']
      .filter(kind => filter[`${kind}ListChanged`] === true)
      .map(kind => `notifications/${kind}/list_changed`),
  )
  response.writeHead(200, EVENT_STREAM)
  const params = { notifications: filter, _meta: { [META.subscriptionId]: call.id } }
  writeEvent(response, { jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged', params })
  const carries = (method: string): boolean =>
    methods.has(method) || (method === 'notifications/resources/updated' && Array.isArray(filter.resourceSubscriptions))
  state.addStream({ response, listenId: call.id ?? 0, carries })
}

/** Adds `resultType`, server info and, for cacheable results, freshness to a modern result. */
function completeResult({ call, offer }: PostContext, result: JsonObject): JsonObject {
  const { ttlMs = 0, cacheScope = 'private' } = offer.options
  const freshness = METHODS.get(call.method)?.cacheable === true ? { ttlMs, cacheScope } : {}
  return {
    resultType: 'complete',
    ...freshness,
    ...result,
    _meta: { [META.serverInfo]: offer.info, ...(result._meta as JsonObject | undefined) },
  }
}

async function respondWithOffer(post: PostContext, dress: (result: JsonObject) => JsonObject): Promise<void> {
  const { call, response, offer } = post
  const params = call.params ?? {}
  await delayResponse(offer.options.delayMs ?? 0, call.signal)
  const notify = (method: string, notified: JsonObject): void => {
    if (!response.headersSent) response.writeHead(200, EVENT_STREAM)
    writeEvent(response, { jsonrpc: '2.0', method, params: notified })
  }
  const outcome = await offer.answer(call.method, params, {
    params,
    headers: call.headers,
    signal: call.signal,
    notify,
  })
  if (response.destroyed) return
  // A cancelled request gets no answer; its stream just closes.
  if (call.isCancelled) response.end()
  else if ('result' in outcome) sendResult(post, dress(outcome.result))
  else sendError(post, isModern(call) && outcome.error.code === RPC.methodNotFound ? 404 : 200, outcome.error)
}

function delayResponse(ms: number, signal: AbortSignal): Promise<void> {
  if (ms === 0) return Promise.resolve()
  return new Promise(resolve => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

function sendResult(post: PostContext, result: JsonObject): void {
  sendMessage(post, 200, { jsonrpc: '2.0', id: post.call.id, result })
}

function sendError(post: PostContext, status: number, error: RpcError): void {
  sendMessage(post, status, { jsonrpc: '2.0', id: post.call.id, error })
}

function sendMessage({ response }: PostContext, status: number, message: unknown): void {
  if (response.headersSent) {
    writeEvent(response, message)
    response.end()
  } else response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(message))
}

/**
 * A stopped server's reserved port: connections are refused, and no other process gets the port. An outgoing
 * connection from this port keeps it bound without a listener.
 */
export class ReservedPort {
  readonly #holder: Server
  readonly #socket: Socket

  private constructor(holder: Server, socket: Socket) {
    this.#holder = holder
    this.#socket = socket
  }

  /** @throws Error EADDRINUSE if another process got the port first */
  static async reserve(port: number): Promise<ReservedPort> {
    const holder = createServer(socket => socket.unref().on('error', () => undefined))
    await new Promise<void>(resolve => holder.listen(0, '127.0.0.1', resolve))
    const { port: to } = holder.address() as AddressInfo
    const socket = connect({ port: to, host: '127.0.0.1', localPort: port, localAddress: '127.0.0.1' })
    try {
      await new Promise<void>((resolve, reject) => {
        socket.once('connect', resolve)
        socket.once('error', reject)
      })
    } catch (error) {
      holder.close()
      throw error
    }
    socket.on('error', () => undefined)
    holder.unref()
    socket.unref()
    return new ReservedPort(holder, socket)
  }

  /** Releases the port immediately, so that a new server can listen on it. */
  async release(): Promise<void> {
    const closed = new Promise<void>(resolve => this.#socket.once('close', () => resolve()))
    this.#socket.resetAndDestroy()
    await closed
    await new Promise<void>(resolve => this.#holder.close(() => resolve()))
  }
}
