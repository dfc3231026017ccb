import type { RpcError } from '../../../api/index.ts'
import { envelopeProblem } from '../../../protocol/era/modern.ts'
import { headerMismatch } from '../../../protocol/headers.ts'
import type { JsonObject } from '../../../protocol/json/json.ts'
import type { Message, RpcNotification, RpcRequest, RpcResponse } from '../../../protocol/jsonrpc.ts'
import { isBatch, parseMessage } from '../../../protocol/jsonrpc.ts'
import { HEADER, LEGACY_VERSIONS, META, MODERN_VERSION, looksModern } from '../../../protocol/methods.ts'
import { placeOfWork } from '../../../protocol/placed-ids.ts'
import { RPC, rpcError } from '../../../protocol/rpc-error.ts'
import { claimsModern, methodProblem, modernClient, versionProblem } from '../../client/client-info.ts'
import { stoppingAnswer, thrownAnswer } from '../../client/encode-answer.ts'
import { InboundRequest, getErrorStatus } from '../../client/inbound-request.ts'
import type { Arrival, HttpContext } from '../context.ts'
import { readBody, createBodyRefusal, refuseUnread } from '../read-body.ts'
import type { Refusal, RequestHeaders } from '../request-guard.ts'
import { parseAccept, guardAccept, guardBody, createRequestOrigin, refusal } from '../request-guard.ts'
import { Reply, sendNothing, sendRefusal } from '../response.ts'
import type { SseStream } from '../sse-writer.ts'
import type { LegacySession } from './legacy-sessions.ts'
import { answerBatch, findSession, initialize, takeMessage } from './legacy.ts'

const LEGACY_ONLY = rpcError(RPC.unsupportedVersion, 'Unsupported protocol version: call initialize', {
  supported: LEGACY_VERSIONS,
  requested: MODERN_VERSION,
})

const NO_DISCOVERY = rpcError(RPC.methodNotFound, 'Method not found: server/discover')

/** Answers a modern request: a conversation of its own, which ends when the client goes away. */
async function answerModern(
  context: HttpContext,
  request: RpcRequest,
  headers: RequestHeaders,
  reply: Reply,
): Promise<void> {
  const envelope = envelopeProblem(request.params)
  if (envelope !== undefined) return reply.error(400, envelope, request.id)
  const problem = requestProblem(request, headers.passed) ?? eraProblem(context, headers, request.method)
  if (problem !== undefined) return reply.error(getErrorStatus(problem, 'modern'), problem, request.id)

  const inbound = new InboundRequest(request, 'modern', createRequestOrigin(headers), reply)
  if (inbound.isListen && !reply.accepts.events) {
    return reply.refuse(
      refusal(406, 'Not acceptable: this method answers with text/event-stream only'),
      request.id,
    )
  }
  const forget = inbound.isListen ? context.open.note(headers, reason => inbound.cancel(reason)) : undefined
  await converse(context, inbound, headers, reply)
  forget?.()
}

/** Checks in the order of 2026-07-28, Streamable HTTP: the version first, as another version may have other headers. */
function requestProblem(
  { method, params }: RpcRequest,
  headers: Readonly<Record<string, string>>,
): RpcError | undefined {
  const mismatch = headerMismatch(headers, method, params)
  const claimed = (params?._meta as JsonObject)[META.protocolVersion]
  const header = headers[HEADER.version]
  if (header !== undefined && header.trim() !== claimed) return mismatch
  return versionProblem(params) ?? mismatch ?? methodProblem(method, 'modern')
}

/** Refuses single requests where they would lose what is kept for a session: clients of both eras are sent to legacy sessions. */
function eraProblem(
  context: HttpContext,
  { label, profile }: RequestHeaders,
  method: string,
): RpcError | undefined {
  const { modern, because } = context.settings.offered(profile)
  if (label !== undefined && modern !== 'none') return undefined
  // Some clients fail on an unsupported version instead of falling back, so a probe is answered as by a server that knows no other era.
  if (modern !== 'all') return method === 'server/discover' ? NO_DISCOVERY : LEGACY_ONLY
  if (because.length > 0 && !context.hasToldOfLoss) tellOfLoss(context, because)
  return undefined
}

function tellOfLoss(context: HttpContext, upstreams: readonly string[]): void {
  context.hasToldOfLoss = true
  context.log.warn(
    'a modern client sends no label: what upstreams keep for its session is lost with each request',
    {
      upstreams,
      hint: `send ${context.settings.names.label ?? 'a label (sessionLabel)'}, or leave out eras: both`,
    },
  )
}

/** Runs a request in a session of its own, outside which nobody listens and nobody can be asked. */
async function converse(
  context: HttpContext,
  inbound: InboundRequest,
  headers: RequestHeaders,
  reply: Reply,
): Promise<void> {
  let isGone = false
  reply.onGone(() => {
    isGone = true
    inbound.cancel('the client closed the connection')
  })
  try {
    const { caller: principal, label, profile, choices } = headers
    const number = ++context.lastRequest
    const session = await context.gate.openSession({
      id: `${context.name}-${context.own}-${number}`,
      listener: context.name,
      client: modernClient(inbound.params),
      principal,
      label,
      profile,
      choices,
      notify: nobodyListens,
    })
    try {
      if (isGone) return
      context.running.set(number, inbound)
      const answer = await inbound.run(context.gate, session, context.admission)
      inbound.settled()
      context.running.delete(number)
      inbound.finish(answer, context.isStopping, context.log)
    } finally {
      context.gate.closeSession(session, isGone ? 'disconnected' : 'answered')
    }
  } catch (thrown) {
    const failed = thrownAnswer(thrown, context.log)
    reply.error(failed.status, failed.error, inbound.id)
  }
}

function nobodyListens(): boolean {
  return false
}

/** POST: one message, of either era, or a batch of legacy ones. */
export async function post(arrival: Arrival): Promise<void> {
  const { context, response, headers } = arrival
  const { maxBody } = context.settings
  const accepts = parseAccept(headers.own.accept)
  const refused = guardBody(headers, maxBody) ?? guardAccept(accepts)
  if (refused !== undefined) return refuseUnread(arrival, refused)
  const body = await readBody(arrival)
  if (body === 'gone') return
  if (typeof body === 'string') return sendRefusal(response, createBodyRefusal(body, maxBody))
  const reply = new Reply(response, accepts, context)
  if (isBatch(body)) return answerBatch(context, body, headers, reply)
  const message = parseMessage(body)
  if (context.handOn !== undefined && (await isHandedOn(arrival, message, body))) return
  await answer({ context, headers, reply }, message)
}

/** Hands on what another process keeps for a client: a call that waits for it, a task, or a result. */
async function isHandedOn(arrival: Arrival, message: Message, body: Buffer): Promise<boolean> {
  if (message.kind !== 'request' || !claimsModern(message.params)) return false
  const place = placeOfWork(message.params)
  return place !== undefined && (await arrival.context.handOn?.(arrival, place, body)) === true
}

/** A request that was read. */
interface Read {
  readonly context: HttpContext
  readonly headers: RequestHeaders
  readonly reply: Reply
}

/** Answers a message by its era (2026-07-28, versioning): the body says which, the headers only confirm. */
function answer(read: Read, message: Message): Promise<void> | void {
  const { context, headers, reply } = read
  if (message.kind === 'malformed') return reply.error(400, message.error, message.id)
  if (message.kind !== 'request') return takeOther(read, message)
  if (context.isStopping) return reply.refuse(stopping(), message.id)
  if (claimsModern(message.params)) return answerModern(context, message, headers, reply)
  if (message.method === 'initialize') return initialize(context, message, headers, reply)
  if (namesModern(headers)) {
    const error = envelopeProblem(message.params) ?? rpcError(RPC.invalidParams, 'Invalid params')
    return reply.error(400, error, message.id)
  }
  const owner = findSession(context, headers)
  if ('status' in owner) return reply.refuse(owner, message.id)
  reply.recorder = owner
  reply.request = message.id
  return takeMessage(context, owner, message, headers, reply)
}

function namesModern({ passed }: RequestHeaders): boolean {
  return looksModern(passed[HEADER.version]?.trim() ?? '')
}

function stopping(): Refusal {
  const { error, http } = stoppingAnswer()
  return { status: 503, error, ...http }
}

/** Takes a notification, or a reply to something we asked. Modern ones have nothing that they could be about. */
function takeOther(read: Read, message: RpcNotification | RpcResponse): void {
  const { context, headers, reply } = read
  const isModern = message.kind === 'notification' && (claimsModern(message.params) || namesModern(headers))
  if (isModern) return reply.accepted()
  const owner = findSession(context, headers)
  if ('status' in owner) return reply.refuse(owner)
  void takeMessage(context, owner, message, headers, reply)
  reply.accepted()
}

/** GET: the session's stream for what belongs to no request, or the rest of a stream that broke. */
export function get({ context, request, response, headers }: Arrival): void {
  request.resume()
  if (context.isStopping) return sendRefusal(response, stopping())
  if (headers.own[HEADER.session] === undefined) return sendRefusal(response, needsSession('GET'))
  const owner = findSession(context, headers)
  if ('status' in owner) return sendRefusal(response, owner)
  if (!parseAccept(headers.own.accept).events)
    return sendRefusal(response, refusal(406, 'Not acceptable: GET answers with text/event-stream'))
  const lastEventId = headers.own[HEADER.lastEventId]
  if (lastEventId !== undefined) owner.hasReturned = true
  response.on(
    'close',
    context.open.note(headers, () => response.destroy()),
  )
  if (lastEventId) return resume(context, owner, lastEventId, { response, headers })
  owner.listen(open(context, owner, { response, headers }))
}

/** Goes on with the one stream that the event was of. */
function resume(context: HttpContext, owner: LegacySession, eventId: string, reader: EventReader): void {
  const { response } = reader
  const place = owner.events.find(eventId)
  if (place === undefined) {
    const why = 'Bad request: Last-Event-ID is not of this session, or what followed it is no longer kept'
    return sendRefusal(response, refusal(400, why, RPC.legacyBadRequest))
  }
  // "No content" is how readers of events are told not to come back (HTML, server-sent events).
  const isRead = place.stream.isOver && owner.events.since(place).length === 0
  if (isRead) return sendNothing(response, 204, { [HEADER.session]: owner.id })
  place.stream.resume(open(context, owner, reader), place.after)
}

type EventReader = Pick<Arrival, 'response' | 'headers'>

function open(context: HttpContext, owner: LegacySession, { response }: EventReader): SseStream {
  response.on('close', () => owner.touch(context.clock.now()))
  return context.streams.open(response, { [HEADER.session]: owner.id })
}

/** DELETE: the client ends its session. */
export function end({ context, request, response, headers }: Arrival): void {
  request.resume()
  if (headers.own[HEADER.session] === undefined) return sendRefusal(response, needsSession('DELETE'))
  const owner = findSession(context, headers)
  if ('status' in owner) return sendRefusal(response, owner)
  context.sessions.end(owner, 'deleted')
  sendNothing(response, 204)
}

function needsSession(method: string): Refusal {
  const refused = refusal(
    405,
    `Method not allowed: ${method} needs the Mcp-Session-Id header of a session`,
    RPC.legacyBadRequest,
  )
  return { ...refused, headers: { allow: 'POST' } }
}
