import type { Answer } from '../../api/index.ts'
import { GatewayError, gatewayError } from '../../errors/errors.ts'
import { RPC, rpcError } from '../../protocol/rpc-error.ts'
import type { PipelineExchange } from '../exchange.ts'
import type { Graph } from '../graph-types.ts'
import { withoutSecrets } from '../without-secrets.ts'
import type { HostedTask } from './hosted-task.ts'

interface Settled {
  readonly graph: Graph
  readonly task: HostedTask
  readonly exchange: PipelineExchange
  readonly method: string
}

/** Does work for a task of ours to its end, through the hooks that see every answer. Never rejects. */
export async function settleTask(
  { graph, task, exchange, method }: Settled,
  work: () => Promise<Answer>,
): Promise<void> {
  graph.entered()
  const done = graph.tasks.working(exchange.session)
  try {
    const answer = await work()
    // As for any call; the exchange that made the task was answered with the task alone.
    const made = (await graph.hooks.runner('response', method)?.(answer, exchange)) ?? answer
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
