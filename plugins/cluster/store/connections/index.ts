import type { Clock } from '../../../../src/plugin.ts'
import { type Connection, type RedisConfig, targetOf } from './connection.ts'
import { SentinelConnection } from './sentinel.ts'
import { SingleConnection } from './single.ts'

/** The way to Redis that `cluster.redis` describes. @throws GatewayError GW_CLUSTER_PACKAGE, GW_CLUSTER_TLS */
export async function connectionTo(
  config: RedisConfig,
  directory: string,
  clock: Clock,
): Promise<Connection> {
  const target = targetOf(config, directory)
  if (target.sentinels !== undefined) return new SentinelConnection(target, clock)
  if (target.nodes === undefined) return new SingleConnection(target, { clock })
  // Slots that move are the package's work. It is 450 files, which nobody else need load.
  const { NodesConnection } = await import('./nodes.ts')
  return NodesConnection.make(target, clock)
}
