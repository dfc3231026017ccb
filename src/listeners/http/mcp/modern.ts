import type { RpcError } from '../../../api/index.ts'
import { envelopeProblem } from '../../../protocol/era/modern.ts'
import { headerMismatch } from '../../../protocol/headers.ts'
import type { JsonObject } from '../../../protocol/json/json.ts'
import type { RpcRequest } from '../../../protocol/jsonrpc.ts'
import { HEADER, META } from '../../../protocol/methods.ts'
import { RPC, rpcError } from '../../../protocol/rpc-error.ts'
import { LEGACY_VERSIONS, MODERN_VERSION } from '../../../protocol/versions.ts'
import { methodProblem, modernClient, versionProblem } from '../../client/client-info.ts'
import { thrownAnswer } from '../../client/encode-answer.ts'
import { InboundRequest, statusOf } from '../../client/inbound-request.ts'
import type { HttpContext } from '../context.ts'
import { refusal } from '../request-guard.ts'
import { type RequestHeaders, originOf } from '../request-headers.ts'
import type { Reply } from '../response.ts'

const LEGACY_ONLY = rpcError(RPC.unsupportedVersion, 'Unsupported protocol version: call initialize', {
  supported: LEGACY_VERSIONS,
  requested: MODERN_VERSION,
})

const NO_DISCOVERY = rpcError(RPC.methodNotFound, 'Method not found: server/discover')

/** Answers a modern request: a conversation of its own, which ends when the client goes away. */
export async function answerModern(
  context: HttpContext,
  request: RpcRequest,
  headers: RequestHeaders,
  reply: Reply,
): Promise<void> {
  const envelope = envelopeProblem(request.params)
  if (envelope !== undefined) return reply.error(400, envelope, request.id)
  const problem = requestProblem(request, headers.passed) ?? eraProblem(context, headers, request.method)
  if (problem !== undefined) return reply.error(statusOf(problem, 'modern'), problem, request.id)

  const inbound = new InboundRequest(request, 'modern', originOf(headers), reply)
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
