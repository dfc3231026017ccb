import type { Answer, Session } from '../../api/index.ts'
import { toLegacyTask, readTask, getRelatedTask, addRelatedTask } from '../../protocol/era/tasks.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { editMembers, parseMembers, getMemberValue } from '../../protocol/json/members.ts'
import { Payload } from '../../protocol/payload.ts'
import { createDetachedExchange } from '../catalog/fetch-lists.ts'
import { collectHookReplies, selectClientRequests } from '../client-request.ts'
import type { PipelineExchange } from '../exchange.ts'
import type { Graph } from '../graph-types.ts'
import { hidePayloadSecrets, hideStateSecrets } from '../hide-secrets.ts'
import { sendTaskRequest } from './follow-task.ts'
import type { ServerTaskLocation } from './task-ids.ts'
import type { RpcError } from '../../protocol/rpc-error.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'

const CALL_METHOD = 'tools/call'

/** A modern client's request about a modern server's task, under the server's own id. */
export async function relayModernRequest(
  place: ServerTaskLocation,
  exchange: PipelineExchange,
  graph: Graph,
): Promise<Answer> {
  const { original: taskId, upstream } = place
  return sendTaskRequest({ graph, upstream, exchange }, exchange.method, { ...exchange.params, taskId })
}

const INPUT_REQUIRED = '"input_required"'

const RENAMED: ReadonlySet<string> = new Set(['taskId', 'resultType'])

/** The state of a modern server's task. Hooks may answer what it asks; the rest is the client's. */
export async function getModernTask(
  place: ServerTaskLocation,
  exchange: PipelineExchange,
  graph: Graph,
): Promise<Answer> {
  const answer = await relayModernRequest(place, exchange, graph)
  if (!('result' in answer)) return answer
  const ours = String(exchange.params?.taskId)
  const bytes = answer.result.bytes()
  const members = parseMembers(bytes)
  // A result of any size passes as the bytes it came in.
  const renamed = editMembers(
    bytes,
    members,
    RENAMED,
    `"resultType":"complete","taskId":${JSON.stringify(ours)}`,
  )
  const late = await runStateHooks(Payload.fromBytes(renamed, 'modern'), place, exchange.session, graph)
  const payload = hidePayloadSecrets(late, graph)
  if (getMemberValue(bytes, members, 'status')?.toString() !== INPUT_REQUIRED) return { result: payload }
  return answerByHooks(payload, place, exchange, graph)
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
  const { given, requests } = 'given' in replies ? replies : { given: {}, requests: inputRequests }
  const left =
    'denied' in replies ? { error: replies.denied } : selectClientRequests(exchange, requests, given)
  if ('error' in left) {
    // The task will never be given what it waits for.
    await sendTaskRequest(server, 'tasks/cancel', { taskId })
    return left
  }
  if (Object.keys(given).length === 0)
    return requests === inputRequests
      ? { result: payload }
      : { result: Payload.of({ ...state, inputRequests: left.rest }, 'modern') }
  await sendTaskRequest(server, 'tasks/update', { taskId, inputResponses: { ...given } })
  const isAnswered = Object.keys(left.rest).length === 0
  const open = isAnswered ? { status: 'working' } : { inputRequests: left.rest }
  return { result: Payload.of({ ...state, ...open }, 'modern') }
}

/** A legacy client's request about a legacy server's task: what is said on the way belongs to it by the right id on each side. */
export async function relayLegacyRequest(
  place: ServerTaskLocation,
  exchange: PipelineExchange,
  graph: Graph,
): Promise<Answer> {
  const { original, upstream } = place
  const ours = String(exchange.params?.taskId)
  exchange.redirectRequests(async ({ method, params }, onward) => {
    const reply = await onward({ method, params: params && addRelatedTask(ours, params) })
    return 'result' in reply && getRelatedTask(reply.result) !== undefined
      ? { result: addRelatedTask(original, reply.result) }
      : reply
  })
  const params = { ...exchange.params, taskId: original }
  const told = await sendTaskRequest({ graph, upstream, exchange }, exchange.method, params)
  const isEnd = exchange.method === 'tasks/result'
  const answer = isEnd ? await runResponseHooks(told, place, exchange.session, graph) : told
  if (!('result' in answer)) return answer
  const value = answer.result.value()
  const named = value.taskId === original ? { ...value, taskId: ours } : value
  const shown = isEnd ? named : hideStateSecrets(named, graph)
  return { result: Payload.of(addRelatedTask(ours, shown), answer.result.era) }
}

/** Reads the state of a legacy server's task for a list; undefined for one that is gone. */
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
    // One server that is away is no reason to lose the others' tasks.
    return undefined
  }
}

/**
 * Runs the `response` hooks of a call on the answer of the task that a server made of it: whatever they keep back or
 * change in an answer, they do in one that comes later. They see the tool, but not its arguments.
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

/** The same for a state of 2026-07-28, which holds what came of the call. */
async function runStateHooks(
  state: Payload,
  place: ServerTaskLocation,
  session: Session,
  graph: Graph,
): Promise<Payload> {
  // A result of any size passes as the bytes it came in when no hook looks.
  if (graph.hooks.getRunner('response', CALL_METHOD) === undefined) return state
  const { result, error, ...rest } = state.value()
  if (result === undefined && error === undefined) return state
  const before = createRelayedAnswer(result, error)
  const after = await runResponseHooks(before, place, session, graph)
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

function createRelayedAnswer(result: unknown, error: unknown): Answer {
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
