import type { RpcError } from '../../../api/index.ts'
import { envelopeProblem } from '../../../protocol/era/modern.ts'
import { headerMismatch } from '../../../protocol/headers.ts'
import type { JsonObject } from '../../../protocol/json/json.ts'
import type { RpcRequest } from '../../../protocol/jsonrpc.ts'
import { HEADER, META } from '../../../protocol/names.ts'
import { RPC, rpcError } from '../../../protocol/rpc-error.ts'
import { LEGACY_VERSIONS, MODERN_VERSION } from '../../../protocol/versions.ts'
import { methodProblem, modernClient, versionProblem } from '../../client/client-info.ts'
import { thrownAnswer } from '../../client/encode-answer.ts'
import { type HttpContext, openSession } from '../context.ts'
import { refusal } from '../request-guard.ts'
import type { RequestHeaders } from '../request-headers.ts'
import type { Reply } from '../response.ts'
import { Post, statusOf } from './posted-request.ts'

const LEGACY_ONLY = rpcError(RPC.unsupportedVersion, 'Unsupported protocol version: call initialize', {
  supported: LEGACY_VERSIONS,
  requested: MODERN_VERSION,
})

/** Answers a modern request: a conversation of its own, which ends when the client goes away. */
export async function answerModern(
  context: HttpContext,
  request: RpcRequest,
  headers: RequestHeaders,
  reply: Reply,
): Promise<void> {
  const envelope = envelopeProblem(request.params)
  if (envelope !== undefined) return reply.error(400, envelope, request.id)
  const problem = requestProblem(request, headers.passed) ?? eraProblem(context, headers)
  if (problem !== undefined) return reply.error(statusOf(problem, 'modern'), problem, request.id)

  const post = new Post(request, headers.passed, 'modern', reply)
  if (post.isListen && !reply.accepts.events) {
    return reply.refuse(
      refusal(406, 'Not acceptable: this method answers with text/event-stream only'),
      request.id,
    )
  }
  const forget = post.isListen ? context.standing.note(headers, reason => post.cancel(reason)) : undefined
  await converse(context, post, headers, reply)
  forget?.()
}

/** In the order of 2026-07-28, Streamable HTTP: the version first, as another version may have other headers. */
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

/** What is kept for a session would be lost with each request, so clients of both eras are sent to legacy sessions. */
function eraProblem(context: HttpContext, { label, profile }: RequestHeaders): RpcError | undefined {
  const { modern, because } = context.settings.offered(profile)
  if (label !== undefined && modern !== 'none') return undefined
  if (modern !== 'all') return LEGACY_ONLY
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

async function converse(
  context: HttpContext,
  post: Post,
  headers: RequestHeaders,
  reply: Reply,
): Promise<void> {
  let isGone = false
  reply.onGone(() => {
    isGone = true
    post.cancel('the client closed the connection')
  })
  try {
    const { caller: principal, label, profile } = headers
    const session = await openSession(context, {
      client: modernClient(post.params),
      principal,
      label,
      profile,
    })
    try {
      if (!isGone) post.finish(await post.run(context, session), context.log)
    } finally {
      context.gate.closeSession(session, isGone ? 'disconnected' : 'answered')
    }
  } catch (thrown) {
    const failed = thrownAnswer(thrown, context.log)
    reply.error(failed.status, failed.error, post.id)
  }
}
