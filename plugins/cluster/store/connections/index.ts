import type { Clock } from '../../../../src/plugin.ts'
import { clusterError } from '../../errors.ts'
import { type Connection, type Means, type RedisConfig, targetOf } from './connection.ts'
import { NodesConnection } from './nodes.ts'
import { SentinelConnection } from './sentinel.ts'
import { SingleConnection } from './single.ts'

/** The way to Redis that `cluster.redis` describes. @throws GatewayError GW_CLUSTER_PACKAGE, GW_CLUSTER_TLS */
export async function connectionTo(
  config: RedisConfig,
  directory: string,
  clock: Clock,
): Promise<Connection> {
  const target = targetOf(config, directory)
  const means: Means = { library: await loaded(), clock }
  if (target.sentinels !== undefined) return new SentinelConnection(target, means)
  return target.nodes === undefined ? new SingleConnection(target, means) : new NodesConnection(target, means)
}

async function loaded(): Promise<Means['library']> {
  try {
    return await import('@redis/client')
  } catch (cause) {
    throw clusterError('GW_CLUSTER_PACKAGE', { why: cause instanceof Error ? cause.message : '', cause })
  }
}
