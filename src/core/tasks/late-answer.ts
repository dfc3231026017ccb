import type { Answer, Session } from '../../api/index.ts'
import { isObject } from '../../protocol/json/json.ts'
import { Payload } from '../../protocol/payload.ts'
import { RPC, type RpcError, rpcError } from '../../protocol/rpc-error.ts'
import { detached } from '../catalog/fetch-lists.ts'
import type { Graph } from '../types.ts'
import type { ServerPlace } from './task-id.ts'

/**
 * What came of a call that a server made a task of takes the `response` hooks of the call: whatever they keep back or
 * change in an answer, they do in one that comes later. They see the tool, but not its arguments.
 */
export async function lateAnswer(
  answer: Answer,
  { upstream, tool }: ServerPlace,
  session: Session,
  graph: Graph,
): Promise<Answer> {
  const hooks = graph.hooks.runner('response', CALL)
  if (hooks === undefined) return answer
  const exchange = detached(graph, session, CALL)
  exchange.params = { name: tool }
  exchange.route = { to: 'one', upstream, params: exchange.params }
  return (await hooks(answer, exchange)) ?? answer
}

/** The same for a state of 2026-07-28, which holds what came of the call. */
export async function lateAnswerIn(
  state: Payload,
  place: ServerPlace,
  session: Session,
  graph: Graph,
): Promise<Payload> {
  // Where no hook looks, a result of any size passes as the bytes it came in.
  if (graph.hooks.runner('response', CALL) === undefined) return state
  const { result, error, ...rest } = state.value()
  if (result === undefined && error === undefined) return state
  const before = answerOf(result, error)
  const after = await lateAnswer(before, place, session, graph)
  if ('result' in after) {
    const whole = { resultType: 'complete', ...after.result.value() }
    const status = 'result' in before ? rest.status : 'completed'
    return Payload.of({ ...rest, status, result: whole }, 'modern')
  }
  const problem =
    'error' in after ? after.error : rpcError(RPC.internal, 'a task cannot ask when it has ended')
  const status = rest.status === 'cancelled' ? 'cancelled' : 'failed'
  return Payload.of({ ...rest, status, error: problem }, 'modern')
}

const CALL = 'tools/call'

function answerOf(result: unknown, error: unknown): Answer {
  if (isObject(result)) return { result: Payload.of(result, 'modern') }
  return {
    error: isRpcError(error)
      ? error
      : rpcError(RPC.internal, 'the server says nothing of what came of its task'),
  }
}

function isRpcError(error: unknown): error is RpcError & Record<string, unknown> {
  return isObject(error) && typeof error.code === 'number' && typeof error.message === 'string'
}
