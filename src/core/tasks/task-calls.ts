import type { Answer, Dispatch, IncomingRequest, ServerDescription } from '../../api/index.ts'
import type { TaskState } from '../../protocol/era/tasks.ts'
import { toLegacyTask, readTask, servesTasks, removeRelatedTask } from '../../protocol/era/tasks.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { Payload } from '../../protocol/payload.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import type { PipelineExchange } from '../exchange.ts'
import { PipelineCall } from '../exchange.ts'
import type { Graph, TaskPlace } from '../graph-types.ts'
import { stateWithoutSecrets } from '../without-secrets.ts'
import { follow } from './follow.ts'
import type { HostedTask } from './hosted-task.ts'
import { settleTask } from './slow-calls.ts'
import { offersTasks, requiresTasks, sealTaskId, getTaskForm, taskSupport, getToolPlace } from './task-ids.ts'

/** Makes calls that may ask the client, and holds them open while it thinks. */
interface Conversing {
  converse(call: PipelineCall, dispatch: Dispatch, graph: Graph): Promise<Answer>
  hold(call: PipelineCall, dispatch: Dispatch, graph: Graph): Promise<Answer>
}

interface Tasking {
  readonly call: PipelineCall
  readonly dispatch: Dispatch
  readonly graph: Graph
  readonly by: Conversing
}

/** Lifetime in milliseconds that a server is asked for when the gateway follows the task itself. */
const TTL_MS = 3_600_000

/** A tool call whose server, or client, may make a task of it; undefined where neither can, and the call is like any other. */
export function callAsTask(tasking: Tasking): Promise<Answer> | undefined {
  const { call, graph } = tasking
  const server = graph.upstreams.get(call.upstream)?.upstream.server
  if (server !== undefined && servesTasks(server)) return asTask(tasking, server)
  return getTaskForm(call) === 'legacy' && offersTasks(graph, 'legacy')
    ? Promise.resolve(noTask(call))
    : undefined
}

function asTask(tasking: Tasking, { era }: ServerDescription): Promise<Answer> {
  const request = getTaskForm(tasking.call)
  return era === 'modern' ? atModern[request](tasking) : atLegacy(tasking)
}

const atModern = {
  /** Both speak of tasks in the same way: it passes, but for its id. */
  modern: async (tasking: Tasking): Promise<Answer> => {
    tasking.call.mayBeTask = true
    return passed(tasking, await plainly(tasking))
  },
  /** The client has decided that it is a task, so it is one, whether the server makes it one or not. */
  legacy: async (tasking: Tasking): Promise<Answer> => hostWhole(tasking),
  /** The server does without where it can; where it cannot, we wait in the client's place. */
  none: async (tasking: Tasking): Promise<Answer> => {
    const answer = await plainly(tasking)
    if ('task' in answer) return driven(tasking, answer.task)
    if (!('error' in answer) || !requiresTasks(answer.error)) return answer
    const again = declared(tasking.call)
    const second = await plainly({ ...tasking, call: again })
    return 'task' in second ? driven({ ...tasking, call: again }, second.task) : second
  },
} as const

async function atLegacy(tasking: Tasking): Promise<Answer> {
  const { call, graph } = tasking
  const request = getTaskForm(call)
  const support = await taskSupport(graph, call)
  if (request === 'legacy') {
    if (support === 'forbidden') return noTask(call)
    call.mayBeTask = true
    return passed(tasking, await plainly(tasking))
  }
  const { task: _task, ...params } = call.params ?? {}
  call.params = params
  const isTask = support === 'required' || (support === 'optional' && request === 'modern')
  if (!isTask) return plainly(tasking)
  call.params = { ...params, task: { ttl: TTL_MS } }
  call.mayBeTask = true
  const answer = await plainly(tasking)
  if (!('task' in answer)) return answer
  return (request === 'modern' ? hosted(tasking, answer.task) : undefined) ?? driven(tasking, answer.task)
}

/** A legacy server's task as one of ours, which a modern client can look at. */
function hosted({ call, graph }: Tasking, task: Payload): Answer | undefined {
  const { ttlMs, pollIntervalMs } = readTask(task.value()) ?? { ttlMs: null }
  return host(call, graph, { ttlMs, pollIntervalMs }, (own, sees) =>
    follow({ graph, upstream: own.upstream, exchange: own.exchange, call: own, sees }, task),
  )
}

/** The same call, of which the server may make a task. */
function declared({ upstream, method, params, headers, exchange }: PipelineCall): PipelineCall {
  const again = new PipelineCall(upstream, method, params, exchange)
  Object.assign(again.headers, headers)
  again.mayBeTask = true
  return again
}

function plainly({ call, dispatch, graph, by }: Tasking): Promise<Answer> {
  return by.converse(call, dispatch, graph)
}

/** A server's task under an id of ours. */
function passed({ call, graph }: Tasking, answer: Answer): Answer {
  if (!('task' in answer)) return answer
  const whole = answer.task.value()
  const value = isObject(whole.task)
    ? { ...whole, task: stateWithoutSecrets(whole.task, graph) }
    : stateWithoutSecrets(whole, graph)
  const state = readTask(value)
  const era = answer.task.era ?? 'legacy'
  const { session } = call.exchange
  if (state === undefined)
    return { error: rpcError(RPC.internal, 'the server answered with a task that is none') }
  const tool = String(call.exchange.params?.name)
  const place: TaskPlace = { at: 'server', ...getToolPlace(call), era, original: state.taskId, tool }
  const taskId = sealTaskId(graph, session, place, state.ttlMs)
  if (taskId === undefined) return { error: rpcError(RPC.internal, 'the id of the task is too long') }
  if (era === 'modern') return { task: Payload.of({ ...value, resultType: 'task', taskId }, era) }
  graph.tasks.note(graph, session, taskId, place, state.ttlMs)
  return { task: Payload.of({ ...value, task: { ...(value.task as JsonObject), taskId } }, era) }
}

/** Waits for a server's task in the place of a client that knows of none. */
function driven({ call, graph, by }: Tasking, task: Payload): Promise<Answer> {
  const { exchange } = call
  const drive = (): Promise<Answer> =>
    follow({ graph, upstream: call.upstream, exchange, call, sees: createProgressReporter(exchange) }, task)
  if (exchange.session.client.era === 'modern') return by.hold(call, drive, graph)
  exchange.askThrough((ask, onward) =>
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
async function hostWhole({ call, dispatch, graph, by }: Tasking): Promise<Answer> {
  if ((await taskSupport(graph, call)) === 'forbidden') return noTask(call)
  const { task: request, ...params } = call.params ?? {}
  const ttlMs = isObject(request) && typeof request.ttl === 'number' ? request.ttl : undefined
  const whole = host(call, graph, { ttlMs }, async (own, sees) => {
    own.params = params
    own.mayBeTask = true
    const answer = await by.converse(own, dispatch, graph)
    if (!('task' in answer)) return answer
    return follow({ graph, upstream: own.upstream, exchange: own.exchange, call: own, sees }, answer.task)
  })
  return whole ?? { error: rpcError(RPC.internal, 'too many tasks are kept already') }
}

function noTask({ params }: PipelineCall): Answer {
  return { error: rpcError(RPC.methodNotFound, `Tool ${String(params?.name)} does not run as a task`) }
}

/** Work that is done for a task, with a call and an exchange of its own; `sees` hears how it goes. */
type Work = (
  own: PipelineCall,
  sees: (state: Pick<TaskState, 'statusMessage' | 'pollIntervalMs'>) => void,
) => Promise<Answer>

/** Lifetime of a task, and the interval at which its client should look. */
interface Keeping {
  readonly ttlMs: number | null | undefined
  readonly pollIntervalMs?: number | undefined
}

/**
 * Makes a task of ours out of a call, which goes on while its client has been answered; undefined when there is no room.
 * Whatever does the work – a server of either era, or something that is no server at all – the client sees the task of its era.
 */
function host(call: PipelineCall, graph: Graph, keeping: Keeping, work: Work): Answer | undefined {
  const { session } = call.exchange
  const hosted = graph.tasks.host(graph, session, {
    tool: String(call.exchange.params?.name),
    ...getToolPlace(call),
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
    hosted.says(statusMessage && graph.hide(statusMessage), pollIntervalMs)
  void settleTask({ graph, task: hosted, exchange, method: own.method }, () => work(own, sees))
  const { state } = hosted
  if (session.client.era === 'modern') return { task: Payload.of({ ...state, resultType: 'task' }, 'modern') }
  graph.tasks.note(graph, session, state.taskId, { at: 'gateway', original: hosted.id }, state.ttlMs)
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
      if (told === 'notifications/progress' && typeof about?.message === 'string') hosted.says(about.message)
    },
    ask: ask => hosted.ask(ask),
  }
}
