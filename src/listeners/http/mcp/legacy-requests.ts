import type { Answer } from '../../../api/index.ts'
import type { RpcMessage, RpcRequest } from '../../../protocol/jsonrpc.ts'
import { encodeError } from '../../../protocol/jsonrpc.ts'
import { HEADER, LEGACY_VERSIONS, isLegacy } from '../../../protocol/methods.ts'
import { RPC } from '../../../protocol/rpc-error.ts'
import { BatchWriter, parseBatch } from '../../client/batch.ts'
import { checkInitialize, parseLegacyClient, checkMethod, convertException } from '../../client/client-protocol.ts'
import type { ResponseWriter } from '../../client/inbound-request.ts'
import { InboundRequest } from '../../client/inbound-request.ts'
import type { HttpContext } from '../http-context.ts'
import type { Refusal, RequestHeaders } from '../http-request.ts'
import { createRequestOrigin, createTooManyRefusal } from '../http-request.ts'
import { createRefusal } from '../response.ts'
import type { HttpReply } from '../response.ts'
import type { LegacySession } from './legacy-sessions.ts'

/** Finds the session for a legacy request, or returns a refusal. */
export function findSession(
  context: HttpContext,
  { caller, own, passed, profile }: RequestHeaders,
): LegacySession | Refusal {
  const id = own[HEADER.session]
  if (id === undefined) {
    return createRefusal(
      400,
      'Bad request: the Mcp-Session-Id header is missing; call initialize first',
      RPC.legacyBadRequest,
    )
  }
  const owner = context.sessions.find(id, caller, profile)
  if (owner === undefined)
    return createRefusal(404, 'Session not found or expired; call initialize again', RPC.legacyNoSession)
  const version = passed[HEADER.version]
  if (version === undefined || isLegacy(version.trim())) return owner
  const supported = LEGACY_VERSIONS.join(', ')
  return createRefusal(
    400,
    `Bad request: unsupported protocol version (supported versions: ${supported})`,
    RPC.legacyBadRequest,
  )
}

/** Answers a batch (2025-03-26); its messages run concurrently. */
export async function answerBatch(
  context: HttpContext,
  body: Buffer,
  headers: RequestHeaders,
  reply: HttpReply,
): Promise<void> {
  const messages = parseBatch(body)
  if ('code' in messages) return reply.sendError(400, messages, null)
  const owner = findSession(context, headers)
  if ('status' in owner) return reply.refuse(owner)
  reply.recorder = owner
  const writer = new BatchWriter(reply, messages, reply.hold())
  await Promise.all(messages.map(async message => handleSessionMessage(context, owner, message, headers, writer)))
  if (writer.isEmpty) reply.sendAccepted()
}

export function handleSessionMessage(
  context: HttpContext,
  owner: LegacySession,
  message: RpcMessage,
  headers: RequestHeaders,
  writer: ResponseWriter,
): Promise<void> | undefined {
  if (message.kind === 'request') return answerLegacy(context, owner, message, headers, writer)
  if (message.kind === 'malformed') writer.finish(400, encodeError(message.id, message.error))
  else if (message.kind === 'response') owner.requests.receiveReply(message)
  else if (message.method === 'notifications/cancelled') owner.open.cancel(message.params)
  else context.gate.receiveNotification(owner.session, { method: message.method, params: message.params })
  return undefined
}

/** Answers a session request, which runs to completion even if the client disconnects. */
async function answerLegacy(
  context: HttpContext,
  owner: LegacySession,
  request: RpcRequest,
  headers: RequestHeaders,
  writer: ResponseWriter,
): Promise<void> {
  const inbound = new InboundRequest(request, 'legacy', createRequestOrigin(headers), writer, owner.requests)
  const duplicateError = owner.open.checkId(request.id)
  if (duplicateError !== undefined) return inbound.refuse(duplicateError)
  const problem = checkMethod(request.method, 'legacy')
  const answer = problem === undefined ? await runInSession(context, owner, inbound) : { error: problem }
  if (owner.open.size === 0) owner.touch(context.clock.now())
  inbound.finish(answer, context.isStopping, context.log)
}

function runInSession(context: HttpContext, owner: LegacySession, inbound: InboundRequest): Promise<Answer> {
  const running = owner.open.run(inbound, context.gate, owner.session, context.admission)
  owner.primeSlowRequests(context.clock)
  return running
}

/** Opens a session; the answer to `initialize` carries its id. */
export async function handleInitialize(
  context: HttpContext,
  request: RpcRequest,
  headers: RequestHeaders,
  reply: HttpReply,
): Promise<void> {
  const problem = checkInitialize(request.params)
  if (problem !== undefined) return reply.sendError(200, problem, request.id)
  const owner = await openSession(context, request, headers, reply)
  if (owner === undefined) return
  reply.sessionId = owner.id
  const inbound = new InboundRequest(request, 'legacy', createRequestOrigin(headers), reply)
  const answer = await runInSession(context, owner, inbound)
  owner.touch(context.clock.now())
  // Without this answer the client never learns the session id.
  const isLost = 'error' in answer || !reply.isOpen
  if (isLost) reply.sessionId = undefined
  inbound.finish(answer, context.isStopping, context.log)
  if (isLost) context.sessions.end(owner, 'refused')
}

async function openSession(
  context: HttpContext,
  request: RpcRequest,
  { caller: principal, label, profile, choices }: RequestHeaders,
  reply: HttpReply,
): Promise<LegacySession | undefined> {
  try {
    const client = parseLegacyClient(request.params)
    const opened = await context.sessions.open({ client, principal, label, profile, choices })
    if (typeof opened !== 'string') return opened
    reply.refuse(createTooManyRefusal(opened), request.id)
  } catch (thrown) {
    const failed = convertException(thrown, context.log)
    reply.sendError(failed.status, failed.error, request.id)
  }
  return undefined
}
