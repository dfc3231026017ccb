import type { Answer, Ask, Dispatch, BackgroundCall, PatienceLimit, RunningCall } from '../../api/index.ts'
import { gatewayError, GatewayError } from '../../errors/errors.ts'
import { servesTasks } from '../../protocol/era/tasks.ts'
import type { JsonObject } from '../../protocol/json/json.ts'
import { isObject } from '../../protocol/json/json.ts'
import { Payload } from '../../protocol/payload.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { parseInputRequests } from '../client-request.ts'
import type { PipelineExchange } from '../exchange.ts'
import { PipelineCall } from '../exchange.ts'
import type { Graph } from '../graph-types.ts'
import { withoutSecrets } from '../without-secrets.ts'
import type { HostedTask } from './hosted-task.ts'
import { getTaskForm, getToolPlace } from './task-ids.ts'

/** Makes a call, with all that its server needs of the client on the way. */
type Converse = (call: PipelineCall, dispatch: Dispatch, graph: Graph) => Promise<Answer>

interface Slow {
  readonly call: PipelineCall
  readonly dispatch: Dispatch
  readonly graph: Graph
  readonly converse: Converse
}

/** Rounds of input that a server may ask for while nobody waits. */
const MAX_ROUNDS = 8

/**
 * Makes a call whose client waits for so long and no longer. Then the call goes on as a task of ours: a client that knows tasks is
 * answered with it, every other with what the plugin says that knows the client's patience. A server that keeps its work by itself
 * answers then.
 */
export async function callInPatience(slow: Slow, patience: PatienceLimit): Promise<Answer> {
  const { call, dispatch, graph, converse } = slow
  const made = converse(call, dispatch, graph)
  const server = graph.upstreams.get(call.upstream)?.upstream.server
  const form = getTaskForm(call)
  const isOwn = 'onTimeout' in patience
  // Such a server makes the task itself, and such a client has one from the start.
  const isTask = form === 'legacy' || (form === 'modern' && server !== undefined && servesTasks(server))
  if (isTask && !isOwn) return made
  if (!(await isLate(made, patience.ms, slow))) return made
  if (!isOwn) return goOn(slow, made, patience) ?? made
  patience.onTimeout()
  return made
}

/** True when the time is over before the call; while the client thinks, it does not wait for us. */
function isLate(made: Promise<Answer>, ms: number, { call, graph }: Slow): Promise<boolean> {
  const { clock } = graph
  const { exchange } = call
  return new Promise(resolve => {
    const end = (isLate: boolean): void => {
      disarm()
      exchange.unwatchAsks(watcher)
      resolve(isLate)
    }
    let left = ms
    let from = clock.now()
    let disarm = clock.after(left, () => end(true))
    const watcher = {
      onAskStart: () => {
        left -= clock.now() - from
        disarm()
      },
      onAskEnd: () => {
        disarm()
        from = clock.now()
        disarm = clock.after(Math.max(0, left), () => end(true))
        return undefined
      },
    }
    exchange.watchAsks(watcher)
    const inTime = (): void => end(false)
    made.then(inTime, inTime)
    exchange.onCancel(inTime)
  })
}

/** Answers the client while the call goes on; undefined where there is no room for one more task. */
function goOn(slow: Slow, made: Promise<Answer>, patience: BackgroundCall): Answer | undefined {
  const { call, graph } = slow
  const { exchange } = call
  let current = exchange
  const task = graph.tasks.host(graph, exchange.session, {
    tool: String(exchange.params?.name),
    ...getToolPlace(call),
    ttlMs: patience.retainMs,
    cancel: reason => current.giveUp(reason),
  })
  if (task === undefined) return undefined
  const onward = {
    emit: ({ method, params }: { method: string; params: JsonObject | undefined }): void => {
      if (method === 'notifications/progress' && typeof params?.message === 'string')
        task.says(params.message)
    },
    ask: (ask: Ask) => task.ask(ask),
  }
  exchange.goOn(onward)
  const work = (): Promise<Answer> =>
    toItsEnd(slow, made, { task, onward, continues: next => void (current = next) })
  void settleTask({ graph, task, exchange, method: call.method }, work)
  if (getTaskForm(call) === 'modern')
    return { task: Payload.of({ ...task.state, resultType: 'task' }, 'modern') }
  return patience.createAnswer(runningCall(task))
}

interface Background {
  readonly task: HostedTask
  readonly onward: Parameters<PipelineExchange['goOn']>[0]
  /** Hears of the exchange in whose name the call goes on. */
  continues(exchange: PipelineExchange): void
}

/** The end of a call that nobody waits for: what its server needs on the way waits in the task until the client comes for it. */
async function toItsEnd(slow: Slow, made: Promise<Answer>, background: Background): Promise<Answer> {
  let answer = await made
  for (let round = 1; 'input' in answer; round++) {
    if (round > MAX_ROUNDS)
      return { error: rpcError(RPC.internal, `the server asked for input more than ${MAX_ROUNDS} times`) }
    const { inputRequests, requestState } = answer.input.value()
    const replies = await collectReplies(inputRequests, background.task)
    if (typeof replies === 'string') return { error: rpcError(RPC.internal, replies) }
    answer = await again(slow, { inputResponses: replies, requestState }, background)
  }
  return answer
}

async function collectReplies(requests: unknown, task: HostedTask): Promise<JsonObject | string> {
  const replies = await Promise.all(
    parseInputRequests(requests).map(async ([key, ask]) => [key, await task.ask(ask)] as const),
  )
  const given: JsonObject = {}
  for (const [key, reply] of replies) {
    if ('error' in reply) return `the client could not answer: ${reply.error.message}`
    given[key] = reply.result
  }
  return given
}

/** The same call once more with what was wanted, in an exchange that nobody waits for either. */
function again(slow: Slow, given: JsonObject, { onward, continues }: Background): Promise<Answer> {
  const { call, dispatch, graph, converse } = slow
  const { exchange: before } = call
  const { requestState: _state, inputResponses: _responses, ...asked } = call.params ?? {}
  const params = { ...asked, ...given }
  const { session, headers, via, principal, remoteAddress } = before
  const exchange = graph.exchange(session, {
    method: call.method,
    params,
    headers,
    via,
    principal,
    remoteAddress,
    ...onward,
  })
  exchange.route = before.route
  exchange.entry = before.entry
  exchange.origin = before.origin ?? before
  continues(exchange)
  const next = new PipelineCall(call.upstream, call.method, params, exchange)
  graph.hooks.getRunner('call', call.method)?.(next)
  return converse(next, dispatch, graph)
}

function runningCall(task: HostedTask): RunningCall {
  return {
    get answer() {
      return task.outcome
    },
    get message() {
      return task.state.statusMessage
    },
    getInputRequests: client => {
      const { inputRequests } = task.detailed(client)
      return isObject(inputRequests) ? inputRequests : undefined
    },
    submitResponses: (responses, client) => task.answer(responses, client),
    watch: watcher => task.watch(watcher),
    cancel: reason => task.cancel(reason),
  }
}

interface SettledTask {
  readonly graph: Graph
  readonly task: HostedTask
  readonly exchange: PipelineExchange
  readonly method: string
}

/** Does work for a task of ours to its end, through the hooks that see every answer. Never rejects. */
export async function settleTask(
  { graph, task, exchange, method }: SettledTask,
  work: () => Promise<Answer>,
): Promise<void> {
  graph.entered()
  const done = graph.tasks.working(exchange.session)
  try {
    const answer = await work()
    // As for any call; the exchange that made the task was answered with the task alone.
    const made = (await graph.hooks.getRunner('response', method)?.(answer, exchange)) ?? answer
    task.settle(withoutSecrets(made, graph))
  } catch (thrown) {
    const error = thrown instanceof GatewayError ? thrown : gatewayError('GW_INTERNAL', { cause: thrown })
    if (error !== thrown) graph.log.error(error.message, { method, cause: String(thrown) })
    const problem = rpcError(error.entry.rpc ?? RPC.internal, error.message, { code: error.code })
    task.settle(withoutSecrets({ error: problem }, graph))
  } finally {
    done()
    graph.left()
  }
}
