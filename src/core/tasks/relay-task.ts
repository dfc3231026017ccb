import type { Answer, Session } from '../../api/index.ts'
import { toLegacyTask, readTask, getRelatedTask, setRelatedTask } from '../../protocol/era/convert.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { Payload } from '../../protocol/payload.ts'
import { createDetachedExchange } from '../catalog/fetch-lists.ts'
import { collectHookReplies, selectClientRequests } from '../client-request.ts'
import type { PipelineExchange } from '../exchange.ts'
import type { Graph, ServerTaskLocation } from '../graph-types.ts'
import { hidePayloadSecrets, hideStateSecrets } from '../hide-secrets.ts'
import { sendTaskRequest } from './follow-task.ts'
import type { RpcError } from '../../protocol/rpc-error.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'

const CALL_METHOD = 'tools/call'

/** Relays a modern client's request about a modern server's task, with the server's id. */
export async function relayModernRequest(
  location: ServerTaskLocation,
  exchange: PipelineExchange,
  graph: Graph,
): Promise<Answer> {
  const { original: taskId, upstream } = location
  return sendTaskRequest({ graph, upstream, exchange }, exchange.method, { ...exchange.params, taskId })
}

/**
 * Returns the state of a modern server's task. Hooks may reply to its input requests; the client receives the
 * remaining ones.
 */
export async function getModernTask(
  location: ServerTaskLocation,
  exchange: PipelineExchange,
  graph: Graph,
): Promise<Answer> {
  const answer = await relayModernRequest(location, exchange, graph)
  if (!('result' in answer)) return answer
  const ours = String(exchange.params?.taskId)
  // Forward the received bytes unchanged, as a result may have any size.
  const renamed = answer.result.edit(['taskId', 'resultType'], { resultType: 'complete', taskId: ours })
  const payload = hidePayloadSecrets(await runStateHooks(renamed, location, exchange.session, graph), graph)
  if (payload.value().status !== 'input_required') return { result: payload }
  return answerByHooks(payload, location, exchange, graph)
}

async function answerByHooks(
  payload: Payload,
  { upstream, original: taskId }: ServerTaskLocation,
  exchange: PipelineExchange,
  graph: Graph,
): Promise<Answer> {
  const { inputRequests, ...state } = payload.value()
  const server = { graph, upstream, exchange }
  const replies = await collectHookReplies(inputRequests, exchange, graph)
  const { hookReplies, requests } = 'hookReplies' in replies ? replies : { hookReplies: {}, requests: inputRequests }
  const selected =
    'denied' in replies ? { error: replies.denied } : selectClientRequests(exchange, requests, hookReplies)
  if ('error' in selected) {
    // Cancel, as the task will never receive its input.
    await sendTaskRequest(server, 'tasks/cancel', { taskId })
    return selected
  }
  if (Object.keys(hookReplies).length === 0)
    return requests === inputRequests
      ? { result: payload }
      : { result: Payload.of({ ...state, inputRequests: selected.remaining }, 'modern') }
  await sendTaskRequest(server, 'tasks/update', { taskId, inputResponses: { ...hookReplies } })
  const isAnswered = Object.keys(selected.remaining).length === 0
  const open = isAnswered ? { status: 'working' } : { inputRequests: selected.remaining }
  return { result: Payload.of({ ...state, ...open }, 'modern') }
}

/**
 * Relays a legacy client's request about a legacy server's task; related notifications carry the right id on each
 * side.
 */
export async function relayLegacyRequest(
  location: ServerTaskLocation,
  exchange: PipelineExchange,
  graph: Graph,
): Promise<Answer> {
  const { original, upstream } = location
  const ours = String(exchange.params?.taskId)
  exchange.redirectRequests(async ({ method, params }, sendToClient) => {
    const reply = await sendToClient({ method, params: params && setRelatedTask(ours, params) })
    return 'result' in reply && getRelatedTask(reply.result) !== undefined
      ? { result: setRelatedTask(original, reply.result) }
      : reply
  })
  const params = { ...exchange.params, taskId: original }
  const received = await sendTaskRequest({ graph, upstream, exchange }, exchange.method, params)
  const isEnd = exchange.method === 'tasks/result'
  const answer = isEnd ? await runResponseHooks(received, location, exchange.session, graph) : received
  if (!('result' in answer)) return answer
  const value = answer.result.value()
  const named = value.taskId === original ? { ...value, taskId: ours } : value
  const redacted = isEnd ? named : hideStateSecrets(named, graph)
  return { result: Payload.of(setRelatedTask(ours, redacted), answer.result.era) }
}

/** Reads a legacy server's task state for a list; undefined if the task is gone. */
export async function fetchListedTask(
  { upstream, original }: ServerTaskLocation,
  taskId: string,
  { session }: PipelineExchange,
  graph: Graph,
): Promise<JsonObject | undefined> {
  try {
    const exchange = createDetachedExchange(graph, session, 'tasks/get')
    const answer = await sendTaskRequest({ graph, upstream, exchange }, 'tasks/get', { taskId: original })
    const state = 'result' in answer ? readTask(answer.result.value()) : undefined
    return state === undefined ? undefined : hideStateSecrets(toLegacyTask({ ...state, taskId }), graph)
  } catch {
    // An unavailable server must not hide the other servers' tasks.
    return undefined
  }
}

/**
 * Runs a call's `response` hooks on its task's result, so that redaction and other changes also apply to late
 * answers. The hooks see the tool, but not its arguments.
 */
async function runResponseHooks(
  answer: Answer,
  { upstream, tool }: ServerTaskLocation,
  session: Session,
  graph: Graph,
): Promise<Answer> {
  const hooks = graph.hooks.getRunner('response', CALL_METHOD)
  if (hooks === undefined) return answer
  const exchange = createDetachedExchange(graph, session, CALL_METHOD)
  exchange.params = { name: tool }
  exchange.route = { to: 'one', upstream, params: exchange.params }
  return (await hooks(answer, exchange)) ?? answer
}

/** Runs the hooks on a 2026-07-28 state, which includes the call's result. */
async function runStateHooks(
  state: Payload,
  location: ServerTaskLocation,
  session: Session,
  graph: Graph,
): Promise<Payload> {
  // Forward the received bytes unchanged if no plugin tapped `response`.
  if (graph.hooks.getRunner('response', CALL_METHOD) === undefined) return state
  const { result, error, ...rest } = state.value()
  if (result === undefined && error === undefined) return state
  const before = createRelayedAnswer(result, error)
  const after = await runResponseHooks(before, location, session, graph)
  if ('result' in after) {
    const completeResult = { resultType: 'complete', ...after.result.value() }
    const status = 'result' in before ? rest.status : 'completed'
    return Payload.of({ ...rest, status, result: completeResult }, 'modern')
  }
  const problem = 'error' in after ? after.error : rpcError(RPC.internal, 'a finished task cannot request input')
  const status = rest.status === 'cancelled' ? 'cancelled' : 'failed'
  return Payload.of({ ...rest, status, error: problem }, 'modern')
}

function createRelayedAnswer(result: unknown, error: unknown): Answer {
  if (isObject(result)) return { result: Payload.of(result, 'modern') }
  return {
    error: isRpcError(error) ? error : rpcError(RPC.internal, 'the server returned no result for its task'),
  }
}

function isRpcError(error: unknown): error is RpcError & Record<string, unknown> {
  return isObject(error) && typeof error.code === 'number' && typeof error.message === 'string'
}
