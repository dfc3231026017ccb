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
  requiresTasks,
  sealTaskId,
  getTaskForm,
  getTaskSupport,
  getToolLocation,
} from './task-ids.ts'

/** Makes calls that may ask the client, and holds them open while it thinks. */
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

/** Lifetime in milliseconds that a server is asked for when the gateway follows the task itself. */
const TTL_MS = 3_600_000

/** A tool call whose server, or client, may make a task of it; undefined where neither can, and the call is like any other. */
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
  /** Both speak of tasks in the same way: it passes, but for its id. */
  modern: async (tasking: TaskCallDeps): Promise<Answer> => {
    tasking.call.mayBeTask = true
    return relayTask(tasking, await dispatchPlainly(tasking))
  },
  /** The client has decided that it is a task, so it is one, whether the server makes it one or not. */
  legacy: async (tasking: TaskCallDeps): Promise<Answer> => hostCall(tasking),
  /** The server does without where it can; where it cannot, we wait in the client's place. */
  none: async (tasking: TaskCallDeps): Promise<Answer> => {
    const answer = await dispatchPlainly(tasking)
    if ('task' in answer) return driveTask(tasking, answer.task)
    if (!('error' in answer) || !requiresTasks(answer.error)) return answer
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
  return (
    (request === 'modern' ? hostLegacyTask(tasking, answer.task) : undefined) ??
    driveTask(tasking, answer.task)
  )
}

/** A legacy server's task as one of ours, which a modern client can look at. */
function hostLegacyTask({ call, graph }: TaskCallDeps, task: Payload): Answer | undefined {
  const { ttlMs, pollIntervalMs } = readTask(task.value()) ?? { ttlMs: null }
  return createHostedTask(call, graph, { ttlMs, pollIntervalMs }, (own, sees) =>
    followTask({ graph, upstream: own.upstream, exchange: own.exchange, call: own, sees }, task),
  )
}

/** The same call, of which the server may make a task. */
function withTaskDeclared({ upstream, method, params, headers, exchange }: PipelineCall): PipelineCall {
  const again = new PipelineCall(upstream, method, params, exchange)
  Object.assign(again.headers, headers)
  again.mayBeTask = true
  return again
}

function dispatchPlainly({ call, dispatch, graph, by }: TaskCallDeps): Promise<Answer> {
  return by.converse(call, dispatch, graph)
}

/** A server's task under an id of ours. */
function relayTask({ call, graph }: TaskCallDeps, answer: Answer): Answer {
  if (!('task' in answer)) return answer
  const whole = answer.task.value()
  const value = isObject(whole.task)
    ? { ...whole, task: hideStateSecrets(whole.task, graph) }
    : hideStateSecrets(whole, graph)
  const state = readTask(value)
  const era = answer.task.era ?? 'legacy'
  const { session } = call.exchange
  if (state === undefined)
    return { error: rpcError(RPC.internal, 'the server answered with a task that is none') }
  const tool = String(call.exchange.params?.name)
  const place: TaskLocation = { at: 'server', ...getToolLocation(call), era, original: state.taskId, tool }
  const taskId = sealTaskId(graph, session, place, state.ttlMs)
  if (taskId === undefined) return { error: rpcError(RPC.internal, 'the id of the task is too long') }
  if (era === 'modern') return { task: Payload.of({ ...value, resultType: 'task', taskId }, era) }
  graph.tasks.recordTask(graph, session, taskId, place, state.ttlMs)
  return { task: Payload.of({ ...value, task: { ...(value.task as JsonObject), taskId } }, era) }
}

/** Waits for a server's task in the place of a client that knows of none. */
function driveTask({ call, graph, by }: TaskCallDeps, task: Payload): Promise<Answer> {
  const { exchange } = call
  const drive = (): Promise<Answer> =>
    followTask(
      { graph, upstream: call.upstream, exchange, call, sees: createProgressReporter(exchange) },
      task,
    )
  if (exchange.session.client.era === 'modern') return by.hold(call, drive, graph)
  exchange.redirectRequests((ask, onward) =>
    onward(ask.params === undefined ? ask : { ...ask, params: removeRelatedTask(ask.params) }),
  )
  return drive()
}

/** Tells a client that wants to hear of progress that its call is alive. */
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

/** A call that a legacy client wants as a task, at a server that has them in another way: ours from the start. */
async function hostCall({ call, dispatch, graph, by }: TaskCallDeps): Promise<Answer> {
  if ((await getTaskSupport(graph, call)) === 'forbidden') return createNoTaskError(call)
  const { task: request, ...params } = call.params ?? {}
  const ttlMs = isObject(request) && typeof request.ttl === 'number' ? request.ttl : undefined
  const whole = createHostedTask(call, graph, { ttlMs }, async (own, sees) => {
    own.params = params
    own.mayBeTask = true
    const answer = await by.converse(own, dispatch, graph)
    if (!('task' in answer)) return answer
    return followTask({ graph, upstream: own.upstream, exchange: own.exchange, call: own, sees }, answer.task)
  })
  return whole ?? { error: rpcError(RPC.internal, 'too many tasks are kept already') }
}

function createNoTaskError({ params }: PipelineCall): Answer {
  return { error: rpcError(RPC.methodNotFound, `Tool ${String(params?.name)} does not run as a task`) }
}

/** Work that is done for a task, with a call and an exchange of its own; `sees` hears how it goes. */
type TaskWork = (
  own: PipelineCall,
  sees: (state: Pick<TaskState, 'statusMessage' | 'pollIntervalMs'>) => void,
) => Promise<Answer>

/** Lifetime of a task, and the interval at which its client should look. */
interface TaskLifetime {
  readonly ttlMs: number | null | undefined
  readonly pollIntervalMs?: number | undefined
}

/**
 * Makes a task of ours out of a call, which goes on while its client has been answered; undefined when there is no room.
 * Whatever does the work – a server of either era, or something that is no server at all – the client sees the task of its era.
 */
function createHostedTask(
  call: PipelineCall,
  graph: Graph,
  keeping: TaskLifetime,
  work: TaskWork,
): Answer | undefined {
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
    emit: ({ method: told, params: about }) => {
      if (told === 'notifications/progress' && typeof about?.message === 'string')
        hosted.updateStatus(about.message)
    },
    ask: ask => hosted.ask(ask),
  }
}
