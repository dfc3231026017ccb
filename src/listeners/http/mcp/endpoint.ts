import { envelopeProblem } from '../../../protocol/era/modern.ts'
import {
  type Message,
  type RpcNotification,
  type RpcResponse,
  isBatch,
  parseMessage,
} from '../../../protocol/jsonrpc.ts'
import { HEADER } from '../../../protocol/methods.ts'
import { placeOfWork } from '../../../protocol/placed-ids.ts'
import { RPC, rpcError } from '../../../protocol/rpc-error.ts'
import { looksModern } from '../../../protocol/versions.ts'
import { claimsModern } from '../../client/client-info.ts'
import { stoppingAnswer } from '../../client/encode-answer.ts'
import type { Arrival, HttpContext } from '../context.ts'
import { readBody, refusalOf, refuseUnread } from '../read-body.ts'
import { type Refusal, acceptsOf, guardAccept, guardBody, refusal } from '../request-guard.ts'
import type { RequestHeaders } from '../request-headers.ts'
import { Reply, sendNothing, sendRefusal } from '../response.ts'
import type { SseStream } from '../sse-writer.ts'
import { answerBatch, findSession, initialize, takeMessage } from './legacy.ts'
import type { LegacySession } from './legacy-sessions.ts'
import { answerModern } from './modern.ts'

/** POST: one message, of either era, or a batch of legacy ones. */
export async function post(arrival: Arrival): Promise<void> {
  const { context, response, headers } = arrival
  const { maxBody } = context.settings
  const accepts = acceptsOf(headers.own.accept)
  const refused = guardBody(headers, maxBody) ?? guardAccept(accepts)
  if (refused !== undefined) return refuseUnread(arrival, refused)
  const body = await readBody(arrival)
  if (body === 'gone') return
  if (typeof body === 'string') return sendRefusal(response, refusalOf(body, maxBody))
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
  if (!acceptsOf(headers.own.accept).events)
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
