import type { Answer, Session } from '../../../api/index.ts'
import type { RpcNotification, RpcRequest } from '../../../protocol/jsonrpc.ts'
import { HEADER } from '../../../protocol/names.ts'
import { RPC, rpcError } from '../../../protocol/rpc-error.ts'
import { LEGACY_VERSIONS, isLegacy } from '../../../protocol/versions.ts'
import { initializeProblem, legacyClient, methodProblem } from '../../client/client-info.ts'
import { thrownAnswer } from '../../client/encode-answer.ts'
import { type HttpContext, openSession } from '../context.ts'
import { type Refusal, refusal, tooMany } from '../request-guard.ts'
import type { RequestHeaders } from '../request-headers.ts'
import type { Reply, Sink } from '../response.ts'
import type { LegacySession } from './legacy-session.ts'
import { Post } from './posted-request.ts'

/** The session a legacy request belongs to, or why there is none. */
export function findSession(
  context: HttpContext,
  { caller, own, passed, profile }: RequestHeaders,
): LegacySession | Refusal {
  const id = own[HEADER.session]
  if (id === undefined) {
    return refusal(
      400,
      'Bad request: the Mcp-Session-Id header is missing; call initialize first',
      RPC.legacyBadRequest,
    )
  }
  const session = context.sessions.find(id, caller, profile)
  if (session === undefined)
    return refusal(
      404,
      'Session not found: it ended or never was; call initialize again',
      RPC.legacyNoSession,
    )
  const version = passed[HEADER.version]
  if (version === undefined || isLegacy(version.trim())) return session
  const known = LEGACY_VERSIONS.join(', ')
  return refusal(
    400,
    `Bad request: unsupported protocol version (supported versions: ${known})`,
    RPC.legacyBadRequest,
  )
}

/** Answers a request of a session. The client may go away and the request still runs to its end. */
export async function answerLegacy(
  context: HttpContext,
  owner: LegacySession,
  request: RpcRequest,
  headers: RequestHeaders,
  sink: Sink,
): Promise<void> {
  const post = new Post(request, headers.passed, 'legacy', sink, owner.asks)
  const problem = methodProblem(request.method, 'legacy')
  if (problem !== undefined) return post.finish({ error: problem }, context.log)
  post.finish(
    await runIn(context, owner, owner.seenBy(headers.caller, headers.label) as Session, post),
    context.log,
  )
}

async function runIn(
  context: HttpContext,
  owner: LegacySession,
  session: Session,
  post: Post,
): Promise<Answer> {
  owner.running.set(post.id, post)
  owner.watch(context.clock)
  const answer = await post.run(context, session)
  owner.running.delete(post.id)
  owner.touch(context.clock.now())
  return answer
}

/** Whether a request under way has this id already: its answer could not be told from the other's. */
export function isTaken(owner: LegacySession, request: RpcRequest): boolean {
  return owner.running.has(request.id)
}

export const TAKEN = rpcError(RPC.invalidRequest, 'Invalid request: a request with this id is still running')

/** Takes a notification of a session; a cancellation ends the request with strictly that id. */
export function takeNotification(
  context: HttpContext,
  owner: LegacySession,
  { method, params }: RpcNotification,
): void {
  if (method !== 'notifications/cancelled')
    return context.gate.notified(owner.session as Session, { method, params })
  const id = params?.requestId
  if (typeof id !== 'string' && typeof id !== 'number') return
  const reason = params?.reason
  owner.running.get(id)?.cancel(typeof reason === 'string' ? reason : 'the client cancelled it')
}

/** Opens a session; the answer of `initialize` carries its id. */
export async function initialize(
  context: HttpContext,
  request: RpcRequest,
  headers: RequestHeaders,
  reply: Reply,
): Promise<void> {
  const problem = initializeProblem(request.params)
  if (problem !== undefined) return reply.error(200, problem, request.id)
  const owner = context.sessions.begin(headers.caller)
  if (typeof owner === 'string') return reply.refuse(tooMany(owner), request.id)
  if (!(await open(context, owner, request, headers, reply))) return
  reply.sessionId = owner.id
  const post = new Post(request, headers.passed, 'legacy', reply)
  const answer = await runIn(context, owner, owner.session as Session, post)
  // Without this answer the client never learns the id.
  const isLost = 'error' in answer || !reply.isOpen
  if (isLost) reply.sessionId = undefined
  post.finish(answer, context.log)
  if (isLost) context.sessions.end(owner, 'refused')
}

async function open(
  context: HttpContext,
  owner: LegacySession,
  request: RpcRequest,
  { label, profile }: RequestHeaders,
  reply: Reply,
): Promise<boolean> {
  try {
    const client = legacyClient(request.params)
    owner.session = await openSession(context, {
      client,
      principal: owner.principal,
      label,
      profile,
      id: owner.id,
      notify: notification => owner.notify(notification),
      ask: ask => owner.ask(ask),
    })
    context.sessions.add(owner)
    return true
  } catch (thrown) {
    context.sessions.abandon(owner)
    const failed = thrownAnswer(thrown, context.log)
    reply.error(failed.status, failed.error, request.id)
    return false
  }
}
