import type { Answer, Dispatch, IncomingRequest, ServerDescription } from '../../api/index.ts'
import type { TaskState } from '../../protocol/era/tasks.ts'
import { toLegacyTask, readTask, servesTasks, removeRelatedTask } from '../../protocol/era/tasks.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { Payload } from '../../protocol/payload.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import type { PipelineExchange } from '../exchange.ts'
import { PipelineCall } from '../exchange.ts'
import type { Graph, TaskLocation } from '../graph-types.ts'
import { hideStateSecrets } from '../hide-secrets.ts'
import { followTask } from './follow-task.ts'
import type { HostedTask } from './hosted-task.ts'
import { completeTask } from './slow-calls.ts'
import {
  offersTasks,
  isTasksRequiredError,
  sealTaskId,
  getTaskForm,
  getTaskSupport,
  getToolLocation,
} from './task-ids.ts'

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

/** Makes a tool call that may become a task; undefined if neither server nor client supports tasks. */
export function callAsTask(tasking: TaskCallDeps): Promise<Answer> | undefined {
  const { call, graph } = tasking
  const server = graph.upstreams.get(call.upstream)?.upstream.server
  if (server !== undefined && servesTasks(server)) return callWithForm(tasking, server)
  return getTaskForm(call) === 'legacy' && offersTasks(graph, 'legacy')
    ? Promise.resolve(createNoTaskError(call))
    : undefined
}

function callWithForm(tasking: TaskCallDeps, { era }: ServerDescription): Promise<Answer> {
  const request = getTaskForm(tasking.call)
  return era === 'modern' ? MODERN_SERVER[request](tasking) : LEGACY_SERVER(tasking)
}

const MODERN_SERVER = {
  /** Both sides support the same form of task: pass it on with another id. */
  modern: async (tasking: TaskCallDeps): Promise<Answer> => {
    tasking.call.mayBeTask = true
    return relayTask(tasking, await dispatchPlainly(tasking))
  },
  /** The client requested a task, so it gets one even if the server creates none. */
  legacy: async (tasking: TaskCallDeps): Promise<Answer> => hostCall(tasking),
  /** The server avoids a task if it can; if not, the gateway polls it for the client. */
  none: async (tasking: TaskCallDeps): Promise<Answer> => {
    const answer = await dispatchPlainly(tasking)
    if ('task' in answer) return driveTask(tasking, answer.task)
    if (!('error' in answer) || !isTasksRequiredError(answer.error)) return answer
    const again = withTaskDeclared(tasking.call)
    const second = await dispatchPlainly({ ...tasking, call: again })
    return 'task' in second ? driveTask({ ...tasking, call: again }, second.task) : second
  },
} as const

async function LEGACY_SERVER(tasking: TaskCallDeps): Promise<Answer> {
  const { call, graph } = tasking
  const request = getTaskForm(call)
  const support = await getTaskSupport(graph, call)
  if (request === 'legacy') {
    if (support === 'forbidden') return createNoTaskError(call)
    call.mayBeTask = true
    return relayTask(tasking, await dispatchPlainly(tasking))
  }
  const { task: _task, ...params } = call.params ?? {}
  call.params = params
  const isTask = support === 'required' || (support === 'optional' && request === 'modern')
  if (!isTask) return dispatchPlainly(tasking)
  call.params = { ...params, task: { ttl: TTL_MS } }
  call.mayBeTask = true
  const answer = await dispatchPlainly(tasking)
  if (!('task' in answer)) return answer
  return (request === 'modern' ? hostLegacyTask(tasking, answer.task) : undefined) ?? driveTask(tasking, answer.task)
}

/** Hosts a legacy server's task, so that a modern client can poll it. */
function hostLegacyTask({ call, graph }: TaskCallDeps, task: Payload): Answer | undefined {
  const { ttlMs, pollIntervalMs } = readTask(task.value()) ?? { ttlMs: null }
  return createHostedTask(call, graph, { ttlMs, pollIntervalMs }, (own, sees) =>
    followTask({ graph, upstream: own.upstream, exchange: own.exchange, call: own, sees }, task),
  )
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
  const location: TaskLocation = { at: 'server', ...getToolLocation(call), era, original: state.taskId, tool }
  const taskId = sealTaskId(graph, session, location, state.ttlMs)
  if (taskId === undefined) return { error: rpcError(RPC.internal, 'the task id is too long') }
  if (era === 'modern') return { task: Payload.of({ ...value, resultType: 'task', taskId }, era) }
  graph.tasks.recordTask(graph, session, taskId, location, state.ttlMs)
  return { task: Payload.of({ ...value, task: { ...(value.task as JsonObject), taskId } }, era) }
}

/** Polls a server's task for a client without task support. */
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

/** Hosts a task for a legacy client, at a server that does not support legacy tasks. */
async function hostCall({ call, dispatch, graph, by }: TaskCallDeps): Promise<Answer> {
  if ((await getTaskSupport(graph, call)) === 'forbidden') return createNoTaskError(call)
  const { task: request, ...params } = call.params ?? {}
  const ttlMs = isObject(request) && typeof request.ttl === 'number' ? request.ttl : undefined
  const created = createHostedTask(call, graph, { ttlMs }, async (own, sees) => {
    own.params = params
    own.mayBeTask = true
    const answer = await by.converse(own, dispatch, graph)
    if (!('task' in answer)) return answer
    return followTask({ graph, upstream: own.upstream, exchange: own.exchange, call: own, sees }, answer.task)
  })
  return created ?? { error: rpcError(RPC.internal, 'too many tasks') }
}

function createNoTaskError({ params }: PipelineCall): Answer {
  return { error: rpcError(RPC.methodNotFound, `Tool ${String(params?.name)} does not run as a task`) }
}

/** A task's work, with its own call and exchange; `sees` receives each state. */
type TaskWork = (
  own: PipelineCall,
  sees: (state: Pick<TaskState, 'statusMessage' | 'pollIntervalMs'>) => void,
) => Promise<Answer>

/** Task lifetime, and suggested poll interval. */
interface TaskLifetime {
  readonly ttlMs: number | null | undefined
  readonly pollIntervalMs?: number | undefined
}

/**
 * Creates a hosted task for a call that continues after the answer; undefined if the limit is reached. The client
 * sees a task of its own era, whatever performs the work.
 */
function createHostedTask(call: PipelineCall, graph: Graph, keeping: TaskLifetime, work: TaskWork): Answer | undefined {
  const { session } = call.exchange
  const hosted = graph.tasks.createTask(graph, session, {
    tool: String(call.exchange.params?.name),
    ...getToolLocation(call),
    ...keeping,
    cancel: reason => exchange.cancel(reason),
  })
  if (hosted === undefined) return undefined
  const exchange: PipelineExchange = graph.exchange(session, createTaskInbound(call, hosted))
  exchange.route = call.exchange.route
  exchange.entry = call.exchange.entry
  exchange.origin = call.exchange.origin ?? call.exchange
  const own = new PipelineCall(call.upstream, call.method, call.params, exchange)
  Object.assign(own.headers, call.headers)
  const sees = ({ statusMessage, pollIntervalMs }: Partial<TaskState>): void =>
    hosted.updateStatus(statusMessage && graph.hide(statusMessage), pollIntervalMs)
  void completeTask({ graph, task: hosted, exchange, method: own.method }, () => work(own, sees))
  const { state } = hosted
  if (session.client.era === 'modern') return { task: Payload.of({ ...state, resultType: 'task' }, 'modern') }
  graph.tasks.recordTask(graph, session, state.taskId, { at: 'gateway', original: hosted.id }, state.ttlMs)
  return { task: Payload.of({ task: toLegacyTask(state) }, 'legacy') }
}

function createTaskInbound({ method, params, exchange }: PipelineCall, hosted: HostedTask): IncomingRequest {
  return {
    method,
    params,
    headers: exchange.headers,
    via: exchange.via,
    remoteAddress: exchange.remoteAddress,
    principal: exchange.principal,
    emit: ({ method, params: about }) => {
      if (method === 'notifications/progress' && typeof about?.message === 'string') hosted.updateStatus(about.message)
    },
    ask: ask => hosted.ask(ask),
  }
}
