import type { Answer, Ask, Dispatch, BackgroundCall, PatienceLimit, RunningCall } from '../../api/index.ts'
import { gatewayError, GatewayError } from '../../errors/errors.ts'
import { servesTasks } from '../../protocol/era/convert.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { Payload } from '../../protocol/payload.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { collectReplies, parseInputRequests } from '../client-request.ts'
import type { PipelineExchange } from '../exchange.ts'
import { PipelineCall } from '../exchange.ts'
import type { Graph } from '../graph-types.ts'
import { hideAnswerSecrets } from '../hide-secrets.ts'
import { PipelineSession } from '../session.ts'
import type { HostedTask } from './hosted-task.ts'
import { getTaskForm, getToolLocation } from './task-ids.ts'

/** Calls an upstream and handles its client requests. */
type DispatchWithInput = (call: PipelineCall, dispatch: Dispatch, graph: Graph) => Promise<Answer>

interface SlowCallDeps {
  readonly call: PipelineCall
  readonly dispatch: Dispatch
  readonly graph: Graph
  readonly dispatchWithInput: DispatchWithInput
}

/** Rounds of input that a server may request in the background. */
const MAX_ROUNDS = 8

/**
 * Makes a call for a client that waits a limited time. Afterwards the call continues as a hosted task: a client that
 * supports tasks receives it, any other the answer of the plugin that set the limit. A limit with `onTimeout` leaves the answer to the server.
 */
export async function callWithPatience(slow: SlowCallDeps, patience: PatienceLimit): Promise<Answer> {
  const { call, dispatch, graph, dispatchWithInput } = slow
  const made = dispatchWithInput(call, dispatch, graph)
  const server = graph.upstreams.get(call.upstream)?.upstream.server
  const form = getTaskForm(call)
  const isOwn = 'onTimeout' in patience
  // A server of the client's era answers with a task of its own.
  const isTask = server !== undefined && form === server.era && servesTasks(server)
  if (isTask && !isOwn) return made
  if (!(await isLate(made, patience.ms, slow))) return made
  if (!isOwn) return continueAsTask(slow, made, patience) ?? made
  patience.onTimeout()
  return made
}

/** True if the limit passes before the call ends; time that the client takes for input does not count. */
function isLate(made: Promise<Answer>, ms: number, { call, graph }: SlowCallDeps): Promise<boolean> {
  const { clock } = graph
  const { exchange } = call
  return new Promise(resolve => {
    const end = (isLate: boolean): void => {
      disarm()
      exchange.unwatchAsks(watcher)
      resolve(isLate)
    }
    let remainingMs = ms
    let from = clock.now()
    let disarm = clock.after(remainingMs, () => end(true))
    const watcher = {
      onAskStart: () => {
        remainingMs -= clock.now() - from
        disarm()
      },
      onAskEnd: () => {
        disarm()
        from = clock.now()
        disarm = clock.after(Math.max(0, remainingMs), () => end(true))
      },
    }
    exchange.watchAsks(watcher)
    const inTime = (): void => end(false)
    made.then(inTime, inTime)
    exchange.onCancel(inTime)
  })
}

/** Answers the client while the call continues; undefined if the task limit is reached. */
function continueAsTask(slow: SlowCallDeps, made: Promise<Answer>, patience: BackgroundCall): Answer | undefined {
  const { call, graph } = slow
  const { exchange } = call
  let current = exchange
  const task = graph.tasks.createTask(graph, exchange.session, {
    tool: String(exchange.params?.name),
    ...getToolLocation(call),
    ttlMs: patience.retainMs,
    cancel: reason => current.abandon(reason),
  })
  if (task === undefined) return undefined
  const channel = {
    emit: ({ method, params }: { method: string; params: JsonObject | undefined }): void => {
      if (method === 'notifications/progress' && typeof params?.message === 'string') task.updateMessage(params.message)
    },
    ask: (ask: Ask) => task.ask(ask),
  }
  exchange.continueInBackground(channel)
  const background = { task, channel, continues: (next: PipelineExchange) => void (current = next) }
  void completeTask(task, slow, finishInBackground(slow, made, background))
  if (getTaskForm(call) === 'modern') return { task: Payload.of({ ...task.state, resultType: 'task' }, 'modern') }
  return patience.createAnswer(describeRunningCall(task))
}

interface BackgroundDeps {
  readonly task: HostedTask
  readonly channel: Parameters<PipelineExchange['continueInBackground']>[0]
  /** Called with the exchange that continues the call. */
  continues(exchange: PipelineExchange): void
}

/** Finishes a call in the background: its input requests wait in the task until the client polls. */
async function finishInBackground(
  slow: SlowCallDeps,
  made: Promise<Answer>,
  background: BackgroundDeps,
): Promise<Answer> {
  let answer = await made
  for (let round = 1; 'input' in answer; round++) {
    if (round > MAX_ROUNDS)
      return { error: rpcError(RPC.internal, `the server requested input more than ${MAX_ROUNDS} times`) }
    const { inputRequests, requestState } = answer.input.value()
    const replies = await collectReplies(parseInputRequests(inputRequests), ask => background.task.ask(ask))
    if (typeof replies === 'string') return { error: rpcError(RPC.internal, replies) }
    answer = await retryWithInput(slow, { inputResponses: replies, requestState }, background)
  }
  return answer
}

/** Retries the call with the requested input, again in a detached exchange. */
function retryWithInput(
  slow: SlowCallDeps,
  retryParams: JsonObject,
  { channel, continues }: BackgroundDeps,
): Promise<Answer> {
  const { call, dispatch, graph, dispatchWithInput } = slow
  const { exchange: before } = call
  const { requestState: _state, inputResponses: _responses, ...callParams } = call.params ?? {}
  const params = { ...callParams, ...retryParams }
  const { session, headers, via, principal, remoteAddress } = before
  const exchange = graph.exchange(session, {
    method: call.method,
    params,
    headers,
    via,
    principal,
    remoteAddress,
    ...channel,
  })
  exchange.route = before.route
  exchange.entry = before.entry
  exchange.origin = before.origin ?? before
  continues(exchange)
  const next = new PipelineCall(call.upstream, call.method, params, exchange)
  graph.hooks.getRunner('call', call.method)?.(next)
  return dispatchWithInput(next, dispatch, graph)
}

function describeRunningCall(task: HostedTask): RunningCall {
  return {
    get answer() {
      return task.outcome
    },
    get message() {
      return task.state.statusMessage
    },
    getInputRequests: client => {
      const { inputRequests } = task.describeFor(client)
      return isObject(inputRequests) ? inputRequests : undefined
    },
    submitResponses: (responses, client) => task.receiveReplies(responses, client),
    watch: watcher => task.watch(watcher),
    cancel: reason => task.cancel(reason),
  }
}

/** Completes a hosted task through the answer hooks. Never rejects. */
async function completeTask(
  task: HostedTask,
  { graph, call: { exchange, method } }: SlowCallDeps,
  work: Promise<Answer>,
): Promise<void> {
  graph.beginCall()
  const done = exchange.session instanceof PipelineSession ? exchange.session.beginWork() : undefined
  try {
    const answer = await work
    // Run `response` hooks here, as the original exchange was answered with the task alone.
    const made = (await graph.hooks.getRunner('response', method)?.(answer, exchange)) ?? answer
    task.settle(hideAnswerSecrets(made, graph))
  } catch (thrown) {
    const error = thrown instanceof GatewayError ? thrown : gatewayError('GW_INTERNAL', { cause: thrown })
    if (error !== thrown) graph.log.error(error.message, { method, cause: String(thrown) })
    const problem = rpcError(error.entry.rpc ?? RPC.internal, error.message, { code: error.code })
    task.settle(hideAnswerSecrets({ error: problem }, graph))
  } finally {
    done?.()
    graph.endCall()
  }
}
