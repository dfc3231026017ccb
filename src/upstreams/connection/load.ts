import type { UpstreamRuntime } from '../../api/index.ts'
import type { Connection } from './connection.ts'

type Load = Pick<UpstreamRuntime, 'instances' | 'inFlight'>

/** Load of connections, with the era of those that speak another one than the main one. */
export function loadOf(connections: readonly Connection[], main: Connection | undefined): Load {
  const own = main?.server?.era
  const instances = connections.map(({ transport, use, server }) => ({
    ...(transport.pid === undefined ? {} : { pid: transport.pid }),
    ...(own === undefined || server === undefined || server.era === own ? {} : { era: server.era }),
    startedAt: use.startedAt,
    inFlight: use.inFlight,
  }))
  return { instances, inFlight: instances.reduce((sum, { inFlight }) => sum + inFlight, 0) }
}
