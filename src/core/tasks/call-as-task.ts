import type { Answer, Call, Dispatch } from '../../api/index.ts'
import type { TaskState } from '../../protocol/era/convert.ts'
import { readTask, servesTasks, removeRelatedTask } from '../../protocol/era/convert.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { Payload } from '../../protocol/payload.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import type { PipelineExchange } from '../exchange.ts'
import { PipelineCall } from '../exchange.ts'
import type { Graph, ServerTaskLocation } from '../graph-types.ts'
import { hideStateSecrets } from '../hide-secrets.ts'
import { followTask } from './follow-task.ts'
import { offersTasks, isTasksRequiredError, sealTaskId, getTaskForm, getToolLocation } from './task-ids.ts'

/** Makes calls that may need client input, and holds them open meanwhile. */
interface InputDispatch {
  converse(call: PipelineCall, dispatch: Dispatch, graph: Graph): Promise<Answer>
  hold(call: PipelineCall, dispatch: Dispatch, graph: Graph): Promise<Answer>
}

interface TaskCallDeps {
  readonly call: PipelineCall
  readonly dispatch: Dispatch
  readonly graph: Graph
  readonly by: InputDispatch
}

/** Lifetime in milliseconds to request from a server if the gateway polls the task itself. */
const TTL_MS = 3_600_000

/**
 * Makes a tool call that may become a task, which is passed on to a client of the server's era. For others the gateway
 * waits for its result. Undefined if neither server nor client supports tasks.
 */
export function callAsTask(tasking: TaskCallDeps): Promise<Answer> | undefined {
  const { call, graph } = tasking
  const server = graph.upstreams.get(call.upstream)?.upstream.server
  const form = getTaskForm(call)
  const era = server !== undefined && servesTasks(server) ? server.era : undefined
  if (form === 'legacy' && era !== 'legacy' && offersTasks(graph, 'legacy'))
    return Promise.resolve(createNoTaskError(call))
  if (era === undefined) return undefined
  if (era === 'legacy') return callLegacyServer(tasking, form === 'legacy')
  return form === 'modern' ? callAndRelay(tasking) : callModernServer(tasking)
}

async function callAndRelay(tasking: TaskCallDeps): Promise<Answer> {
  tasking.call.mayBeTask = true
  return relayTask(tasking, await dispatchPlainly(tasking))
}

/** The server avoids a task if it can; if not, the gateway polls it for the client. */
async function callModernServer(tasking: TaskCallDeps): Promise<Answer> {
  omitTaskRequest(tasking.call)
  const answer = await dispatchPlainly(tasking)
  if ('task' in answer) return driveTask(tasking, answer.task)
  if (!('error' in answer) || !isTasksRequiredError(answer.error)) return answer
  const again = withTaskDeclared(tasking.call)
  const second = await dispatchPlainly({ ...tasking, call: again })
  return 'task' in second ? driveTask({ ...tasking, call: again }, second.task) : second
}

async function callLegacyServer(tasking: TaskCallDeps, isRequested: boolean): Promise<Answer> {
  const { call, graph } = tasking
  const support = await getTaskSupport(graph, call)
  if (isRequested) return support === 'forbidden' ? createNoTaskError(call) : callAndRelay(tasking)
  omitTaskRequest(call)
  if (support !== 'required') return dispatchPlainly(tasking)
  call.params = { ...call.params, task: { ttl: TTL_MS } }
  call.mayBeTask = true
  const answer = await dispatchPlainly(tasking)
  return 'task' in answer ? driveTask(tasking, answer.task) : answer
}

/** Reads a tool's own `execution.taskSupport` (2025-11-25); `forbidden` if it has none. */
async function getTaskSupport(
  graph: Graph,
  { upstream, params, exchange }: Call,
): Promise<'required' | 'optional' | 'forbidden'> {
  const name = params?.name
  if (typeof name !== 'string') return 'forbidden'
  const entry =
    graph.catalog.getCachedView('tools', exchange.session)?.findByOriginal(upstream, name) ??
    (await graph.catalog.getList(upstream, 'tools', exchange.session))?.entries.find(
      ({ original }) => original === name,
    )
  const execution = entry?.value.execution
  const support = isObject(execution) ? execution.taskSupport : undefined
  return support === 'required' || support === 'optional' ? support : 'forbidden'
}

function omitTaskRequest(call: PipelineCall): void {
  if (call.params?.task === undefined) return
  const { task: _task, ...params } = call.params
  call.params = params
}

/** Returns the same call, with tasks declared. */
function withTaskDeclared({ upstream, method, params, headers, exchange }: PipelineCall): PipelineCall {
  const again = new PipelineCall(upstream, method, params, exchange)
  Object.assign(again.headers, headers)
  again.mayBeTask = true
  return again
}

function dispatchPlainly({ call, dispatch, graph, by }: TaskCallDeps): Promise<Answer> {
  return by.converse(call, dispatch, graph)
}

function createNoTaskError({ params }: PipelineCall): Answer {
  return { error: rpcError(RPC.methodNotFound, `Tool ${String(params?.name)} does not run as a task`) }
}

/** Passes a server's task on under a sealed id. */
function relayTask({ call, graph }: TaskCallDeps, answer: Answer): Answer {
  if (!('task' in answer)) return answer
  const taskResult = answer.task.value()
  const value = isObject(taskResult.task)
    ? { ...taskResult, task: hideStateSecrets(taskResult.task, graph) }
    : hideStateSecrets(taskResult, graph)
  const state = readTask(value)
  const era = answer.task.era ?? 'legacy'
  const { session } = call.exchange
  if (state === undefined) return { error: rpcError(RPC.internal, 'the server returned an invalid task') }
  const tool = String(call.exchange.params?.name)
  const location: ServerTaskLocation = { at: 'server', ...getToolLocation(call), era, original: state.taskId, tool }
  const taskId = sealTaskId(graph, session, location, state.ttlMs)
  if (taskId === undefined) return { error: rpcError(RPC.internal, 'the task id is too long') }
  if (era === 'modern') return { task: Payload.of({ ...value, resultType: 'task', taskId }, era) }
  graph.tasks.recordTask(graph, session, taskId, location, state.ttlMs)
  return { task: Payload.of({ ...value, task: { ...(value.task as JsonObject), taskId } }, era) }
}

/** Polls a server's task for a client that does not receive it. */
function driveTask({ call, graph, by }: TaskCallDeps, task: Payload): Promise<Answer> {
  const { exchange } = call
  const drive = (): Promise<Answer> =>
    followTask({ graph, upstream: call.upstream, exchange, call, sees: createProgressReporter(exchange) }, task)
  if (exchange.session.client.era === 'modern') return by.hold(call, drive, graph)
  exchange.redirectRequests((ask, sendToClient) =>
    sendToClient(ask.params === undefined ? ask : { ...ask, params: removeRelatedTask(ask.params) }),
  )
  return drive()
}

/** Sends progress during polling, if the client requested it. */
function createProgressReporter(exchange: PipelineExchange): ((state: TaskState) => void) | undefined {
  const meta = exchange.params?._meta
  const progressToken = isObject(meta) ? meta.progressToken : undefined
  if (progressToken === undefined) return undefined
  let progress = 0
  return ({ statusMessage }) =>
    exchange.emit({
      method: 'notifications/progress',
      params: {
        progressToken,
        progress: ++progress,
        ...(statusMessage === undefined ? {} : { message: statusMessage }),
      },
    })
}
