import type { Answer, Inbound } from '../../api/index.ts'
import { GatewayError, gatewayError } from '../../errors/errors.ts'
import { type TaskState, legacyTask } from '../../protocol/era/tasks.ts'
import { Payload } from '../../protocol/payload.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import { PipelineCall, type PipelineExchange } from '../exchange.ts'
import type { Graph } from '../types.ts'
import type { HostedTask } from './hosted-task.ts'

/** What is done for a task, with a call and an exchange of its own; `sees` hears how it goes. */
export type Work = (
  own: PipelineCall,
  sees: (state: Pick<TaskState, 'statusMessage' | 'pollIntervalMs'>) => void,
) => Promise<Answer>

/** How long a task is to be kept, and how often its client should look. */
export interface Keeping {
  readonly ttlMs: number | null | undefined
  readonly pollIntervalMs?: number | undefined
}

/**
 * Makes a task of ours out of a call, which goes on while its client has been answered; undefined when there is no room.
 * Whatever does the work – a server of either era, or something that is no server at all – the client sees the task of its era.
 */
export function host(call: PipelineCall, graph: Graph, keeping: Keeping, work: Work): Answer | undefined {
  const { session } = call.exchange
  const hosted = graph.tasks.host(graph, session, {
    ...keeping,
    cancel: reason => exchange.cancel(reason),
  })
  if (hosted === undefined) return undefined
  const exchange: PipelineExchange = graph.exchange(session, inboundOf(call, hosted))
  exchange.route = call.exchange.route
  const own = new PipelineCall(call.upstream, call.method, call.params, exchange)
  Object.assign(own.headers, call.headers)
  void run(own, graph, hosted, work)
  const { state } = hosted
  if (session.client.era === 'modern') return { task: Payload.of({ ...state, resultType: 'task' }, 'modern') }
  graph.tasks.note(graph, session, state.taskId, { at: 'gateway', original: hosted.id }, state.ttlMs)
  return { task: Payload.of({ task: legacyTask(state) }, 'legacy') }
}

function inboundOf({ method, params, exchange }: PipelineCall, hosted: HostedTask): Inbound {
  return {
    method,
    params,
    headers: exchange.headers,
    principal: exchange.principal,
    emit: ({ method: told, params: about }) => {
      if (told === 'notifications/progress' && typeof about?.message === 'string') hosted.says(about.message)
    },
    ask: ask => hosted.ask(ask),
  }
}

async function run(own: PipelineCall, graph: Graph, hosted: HostedTask, work: Work): Promise<void> {
  graph.entered()
  const done = graph.tasks.working(own.exchange.session)
  try {
    const sees = ({ statusMessage, pollIntervalMs }: Partial<TaskState>): void =>
      hosted.says(statusMessage, pollIntervalMs)
    const answer = await work(own, sees)
    // As for any call; the exchange that made the task was answered with the task alone.
    hosted.settle((await graph.hooks.runner('response', own.method)?.(answer, own.exchange)) ?? answer)
  } catch (thrown) {
    const error = thrown instanceof GatewayError ? thrown : gatewayError('GW_INTERNAL', { cause: thrown })
    if (error !== thrown) graph.log.error(error.message, { method: own.method, cause: String(thrown) })
    hosted.settle({
      error: rpcError(error.entry.rpc ?? RPC.internal, error.publicMessage, { code: error.code }),
    })
  } finally {
    done()
    graph.left()
  }
}
