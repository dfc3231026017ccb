import { envelopeProblem } from '../../../protocol/era/modern.ts'
import {
  type Malformed,
  type Message,
  type RpcRequest,
  isBatch,
  parseMessage,
} from '../../../protocol/jsonrpc.ts'
import { HEADER } from '../../../protocol/names.ts'
import { RPC, rpcError } from '../../../protocol/rpc-error.ts'
import { looksModern } from '../../../protocol/versions.ts'
import { claimsModern } from '../../client/client-info.ts'
import { stoppingAnswer } from '../../client/encode-answer.ts'
import type { Arrival } from '../arrival.ts'
import { readBody, refusalOf, swallow } from '../body/read-body.ts'
import type { HttpContext } from '../context.ts'
import { type Refusal, acceptsOf, guardAccept, guardBody, refusal } from '../request-guard.ts'
import type { RequestHeaders } from '../request-headers.ts'
import { Reply, sendNothing, sendRefusal } from '../response.ts'
import type { SseStream } from '../sse-writer.ts'
import { answerBatch } from './legacy-batch.ts'
import type { LegacySession } from './legacy-session.ts'
import { TAKEN, answerLegacy, findSession, initialize, isTaken, takeNotification } from './legacy.ts'
import { answerModern } from './modern.ts'

/** POST: one message, of either era, or a batch of legacy ones. */
export async function post({ context, request, response, headers }: Arrival): Promise<void> {
  const { maxBody } = context.settings
  const accepts = acceptsOf(headers.own.accept)
  const refused = guardBody(headers, maxBody) ?? guardAccept(accepts)
  if (refused !== undefined) {
    swallow(request, maxBody)
    return sendRefusal(response, refused)
  }
  const body = await readBody({ context, request, response, headers })
  if (body === 'gone') return
  if (typeof body === 'string') return sendRefusal(response, refusalOf(body, maxBody))
  const reply = new Reply(response, accepts, context, headers.caller)
  if (isBatch(body)) return answerBatch(context, body, headers, reply)
  await answer(context, parseMessage(body), headers, reply)
}

function answer(
  context: HttpContext,
  message: Message,
  headers: RequestHeaders,
  reply: Reply,
): Promise<void> | void {
  switch (message.kind) {
    case 'malformed':
      return reply.error(400, message.error, message.id)
    case 'request':
      return answerRequest(context, message, headers, reply)
    default:
      return takeOther(context, message, headers, reply)
  }
}

/** Which era a request is of (2026-07-28, versioning): the body says, the headers only confirm. */
function answerRequest(
  context: HttpContext,
  request: RpcRequest,
  headers: RequestHeaders,
  reply: Reply,
): Promise<void> | void {
  if (context.isStopping) return reply.refuse(stopping(), request.id)
  if (claimsModern(request.params)) return answerModern(context, request, headers, reply)
  if (request.method === 'initialize') return initialize(context, request, headers, reply)
  if (looksModern(headers.passed[HEADER.version]?.trim() ?? '')) {
    return reply.error(
      400,
      envelopeProblem(request.params) ?? rpcError(RPC.invalidParams, 'Invalid params'),
      request.id,
    )
  }
  const owner = findSession(context, headers)
  if ('status' in owner) return reply.refuse(owner, request.id)
  if (isTaken(owner, request)) return reply.error(400, TAKEN, request.id)
  reply.recorder = owner
  return answerLegacy(context, owner, request, headers, reply)
}

function stopping(): Refusal {
  const { error, http } = stoppingAnswer()
  return { status: 503, error, ...http }
}

/** A notification, or a reply to something we asked. Modern ones have nothing that they could be about. */
function takeOther(
  context: HttpContext,
  message: Exclude<Message, RpcRequest | Malformed>,
  headers: RequestHeaders,
  reply: Reply,
): void {
  const isNotification = message.kind === 'notification'
  const isModern =
    isNotification &&
    (claimsModern(message.params) || looksModern(headers.passed[HEADER.version]?.trim() ?? ''))
  if (isModern) return reply.accepted()
  const owner = findSession(context, headers)
  if ('status' in owner) return reply.refuse(owner)
  if (isNotification) takeNotification(context, owner, message)
  else owner.asks.answer(message)
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
    context.standing.note(headers, () => response.destroy()),
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

function open(context: HttpContext, owner: LegacySession, { response, headers }: EventReader): SseStream {
  response.on('close', () => owner.touch(context.clock.now()))
  return context.streams.open(response, headers.caller, { [HEADER.session]: owner.id })
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
