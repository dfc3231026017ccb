import type { RpcError } from '../../../api/index.ts'
import { findEnvelopeError } from '../../../protocol/era/convert.ts'
import { findHeaderMismatch } from '../../../protocol/headers.ts'
import type { JsonObject } from '../../../protocol/json/json.ts'
import type { RpcMessage, RpcNotification, RpcRequest, RpcResponse } from '../../../protocol/jsonrpc.ts'
import { isBatch, parseMessage } from '../../../protocol/jsonrpc.ts'
import { HEADER, LEGACY_VERSIONS, META, MODERN_VERSION, looksModern } from '../../../protocol/methods.ts'
import { findRequestReplica } from '../../../protocol/replica-ids.ts'
import { RPC, rpcError } from '../../../protocol/rpc-error.ts'
import {
  claimsModern,
  checkMethod,
  parseModernClient,
  checkVersion,
  createStoppingAnswer,
  convertException,
} from '../../client/client-protocol.ts'
import { InboundRequest, getErrorStatus } from '../../client/inbound-request.ts'
import type { Arrival, HttpContext } from '../http-context.ts'
import { readBody, createBodyRefusal, refuseUnread, checkBody, createRequestOrigin } from '../http-request.ts'
import { parseAccept, checkAccept, createRefusal, HttpReply, sendNothing, sendRefusal } from '../response.ts'
import type { Refusal, RequestHeaders } from '../http-request.ts'
import type { SseStream } from '../sse-writer.ts'
import type { LegacySession } from './legacy-sessions.ts'
import { answerBatch, findSession, handleInitialize, handleSessionMessage } from './legacy-requests.ts'

const LEGACY_ONLY = rpcError(RPC.unsupportedVersion, 'Unsupported protocol version: call initialize', {
  supported: LEGACY_VERSIONS,
  requested: MODERN_VERSION,
})

const NO_DISCOVERY = rpcError(RPC.methodNotFound, 'Method not found: server/discover')

/** Answers a modern request in a session that ends when the client disconnects. */
async function answerModern(
  context: HttpContext,
  request: RpcRequest,
  headers: RequestHeaders,
  reply: HttpReply,
): Promise<void> {
  const envelope = findEnvelopeError(request.params)
  if (envelope !== undefined) return reply.sendError(400, envelope, request.id)
  const problem = checkModernRequest(request, headers.passed) ?? checkEra(context, headers, request.method)
  if (problem !== undefined) return reply.sendError(getErrorStatus(problem, 'modern'), problem, request.id)

  const inbound = new InboundRequest(request, 'modern', createRequestOrigin(headers), reply)
  if (inbound.isListen && !reply.accepts.events) {
    return reply.refuse(createRefusal(406, 'Not acceptable: this method requires text/event-stream'), request.id)
  }
  const forget = inbound.isListen ? context.openStreams.add(headers, reason => inbound.cancel(reason)) : undefined
  await runInOwnSession(context, inbound, headers, reply)
  forget?.()
}

/**
 * Validates in the specified order (2026-07-28, Streamable HTTP): version first, as other versions may define other
 * headers.
 */
function checkModernRequest(
  { method, params }: RpcRequest,
  headers: Readonly<Record<string, string>>,
): RpcError | undefined {
  const mismatch = findHeaderMismatch(headers, method, params)
  const claimed = (params?._meta as JsonObject)[META.protocolVersion]
  const header = headers[HEADER.version]
  if (header !== undefined && header.trim() !== claimed) return mismatch
  return checkVersion(params) ?? mismatch ?? checkMethod(method, 'modern')
}

/** Refuses modern requests that would lose session state, so that clients use legacy sessions. */
function checkEra(context: HttpContext, { label, profile }: RequestHeaders, method: string): RpcError | undefined {
  const { byDefault, byProfile } = context.settings.offeredEras
  const { modern, sessionUpstreams } = byProfile.get(profile ?? '') ?? byDefault
  if (label !== undefined && modern !== 'none') return undefined
  // Some clients do not fall back on an unsupported version, so answer probes like a legacy-only server.
  if (modern !== 'all') return method === 'server/discover' ? NO_DISCOVERY : LEGACY_ONLY
  if (sessionUpstreams.length > 0 && !context.hasWarnedOfLoss) warnOfLoss(context, sessionUpstreams)
  return undefined
}

function warnOfLoss(context: HttpContext, upstreams: readonly string[]): void {
  context.hasWarnedOfLoss = true
  context.log.warn('modern client without session label: upstream session state is lost after each request', {
    upstreams,
    hint: `send ${context.settings.names.label ?? 'a label (sessionLabel)'}, or remove eras: both`,
  })
}

/** Runs a request in a session without a channel for notifications or client requests. */
async function runInOwnSession(
  context: HttpContext,
  inbound: InboundRequest,
  headers: RequestHeaders,
  reply: HttpReply,
): Promise<void> {
  let isGone = false
  reply.onDisconnect(() => {
    isGone = true
    inbound.cancel('the client closed the connection')
  })
  try {
    const { caller: principal, label, profile, choices } = headers
    const number = ++context.lastRequest
    const session = await context.gate.openSession({
      id: `${context.name}-${context.instanceId}-${number}`,
      listener: context.name,
      client: parseModernClient(inbound.params),
      principal,
      label,
      profile,
      choices,
      notify: dropNotification,
    })
    try {
      if (isGone) return
      context.running.set(number, inbound)
      const answer = await inbound.run(context.gate, session, context.admission)
      inbound.markAnswered()
      context.running.delete(number)
      inbound.finish(answer, context.isStopping, context.log)
    } finally {
      context.gate.closeSession(session, isGone ? 'disconnected' : 'answered')
    }
  } catch (thrown) {
    const failed = convertException(thrown, context.log)
    reply.sendError(failed.status, failed.error, inbound.id)
  }
}

function dropNotification(): boolean {
  return false
}

/** POST: one message of either era, or a legacy batch. */
export async function handlePost(arrival: Arrival): Promise<void> {
  const { context, response, headers } = arrival
  const { maxBody } = context.settings
  const accepts = parseAccept(headers.own.accept)
  const refused = checkBody(headers, maxBody) ?? checkAccept(accepts)
  if (refused !== undefined) return refuseUnread(arrival, refused)
  const body = await readBody(arrival)
  if (body === 'gone') return
  if (typeof body === 'string') return sendRefusal(response, createBodyRefusal(body, maxBody))
  const reply = new HttpReply(response, accepts, context)
  if (isBatch(body)) return answerBatch(context, body, headers, reply)
  const message = parseMessage(body)
  if (context.forward !== undefined && (await forwardToOwner(arrival, message, body))) return
  await handleMessage({ context, headers, reply }, message)
}

/** Forwards a request whose parked call, task or result another process owns. */
async function forwardToOwner(arrival: Arrival, message: RpcMessage, body: Buffer): Promise<boolean> {
  if (message.kind !== 'request' || !claimsModern(message.params)) return false
  const replicaId = findRequestReplica(message.params)
  return replicaId !== undefined && (await arrival.context.forward?.(arrival, replicaId, body)) === true
}

interface ReceivedMessage {
  readonly context: HttpContext
  readonly headers: RequestHeaders
  readonly reply: HttpReply
}

/** Dispatches by era (2026-07-28, versioning): the body decides, headers only confirm. */
function handleMessage(read: ReceivedMessage, message: RpcMessage): Promise<void> | void {
  const { context, headers, reply } = read
  if (message.kind === 'malformed') return reply.sendError(400, message.error, message.id)
  if (message.kind !== 'request') return handleNonRequest(read, message)
  if (context.isStopping) return reply.refuse(createStoppingRefusal(), message.id)
  if (claimsModern(message.params)) return answerModern(context, message, headers, reply)
  if (message.method === 'initialize') return handleInitialize(context, message, headers, reply)
  if (hasModernVersion(headers)) {
    const error = findEnvelopeError(message.params) ?? rpcError(RPC.invalidParams, 'Invalid params')
    return reply.sendError(400, error, message.id)
  }
  const owner = findSession(context, headers)
  if ('status' in owner) return reply.refuse(owner, message.id)
  reply.recorder = owner
  reply.request = message.id
  return handleSessionMessage(context, owner, message, headers, reply)
}

function hasModernVersion({ passed }: RequestHeaders): boolean {
  return looksModern(passed[HEADER.version]?.trim() ?? '')
}

function createStoppingRefusal(): Refusal {
  const { error, http } = createStoppingAnswer()
  return { status: 503, error, ...http }
}

/** Handles a notification or a reply. Modern clients send none that apply. */
function handleNonRequest(read: ReceivedMessage, message: RpcNotification | RpcResponse): void {
  const { context, headers, reply } = read
  const isModern = message.kind === 'notification' && (claimsModern(message.params) || hasModernVersion(headers))
  if (isModern) return reply.sendAccepted()
  const owner = findSession(context, headers)
  if ('status' in owner) return reply.refuse(owner)
  void handleSessionMessage(context, owner, message, headers, reply)
  reply.sendAccepted()
}

/** GET: opens a session's standalone stream, or resumes a broken stream. */
export function handleGet({ context, request, response, headers }: Arrival): void {
  request.resume()
  if (context.isStopping) return sendRefusal(response, createStoppingRefusal())
  if (headers.own[HEADER.session] === undefined) return sendRefusal(response, createSessionRequired('GET'))
  const owner = findSession(context, headers)
  if ('status' in owner) return sendRefusal(response, owner)
  if (!parseAccept(headers.own.accept).events)
    return sendRefusal(response, createRefusal(406, 'Not acceptable: GET requires text/event-stream'))
  const lastEventId = headers.own[HEADER.lastEventId]
  response.on(
    'close',
    context.openStreams.add(headers, () => response.destroy()),
  )
  if (lastEventId) return resumeStream(context, owner, lastEventId, { response, headers })
  owner.setStandaloneStream(openStream(context, owner, { response, headers }))
}

/** Resumes the stream that an event belongs to. */
function resumeStream(context: HttpContext, owner: LegacySession, eventId: string, reader: EventReader): void {
  const { response } = reader
  const position = owner.events.find(eventId)
  if (position === undefined) {
    const message = 'Bad request: Last-Event-ID is unknown or expired'
    return sendRefusal(response, createRefusal(400, message, RPC.legacyBadRequest))
  }
  // 204 stops EventSource clients from reconnecting (HTML, server-sent events).
  const isRead = position.stream.isOver && owner.events.listAfter(position).length === 0
  if (isRead) return sendNothing(response, 204, { [HEADER.session]: owner.id })
  position.stream.resume(openStream(context, owner, reader), position.after)
}

type EventReader = Pick<Arrival, 'response' | 'headers'>

function openStream(context: HttpContext, owner: LegacySession, { response }: EventReader): SseStream {
  response.on('close', () => owner.touch(context.clock.now()))
  return context.streams.open(response, { [HEADER.session]: owner.id })
}

/** DELETE: ends the session. */
export function handleDelete({ context, request, response, headers }: Arrival): void {
  request.resume()
  if (headers.own[HEADER.session] === undefined) return sendRefusal(response, createSessionRequired('DELETE'))
  const owner = findSession(context, headers)
  if ('status' in owner) return sendRefusal(response, owner)
  context.sessions.end(owner, 'deleted')
  sendNothing(response, 204)
}

function createSessionRequired(method: string): Refusal {
  const refused = createRefusal(
    405,
    `Method not allowed: ${method} requires the Mcp-Session-Id header`,
    RPC.legacyBadRequest,
  )
  return { ...refused, headers: { allow: 'POST' } }
}
