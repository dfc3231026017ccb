import type { UpstreamRuntime } from '../api/index.ts'
import type { Connection } from './connection/connection.ts'
import type { Supervisor } from './supervisor.ts'

/** Equal processes for one server; the main one serves lists and subscriptions. */
export class Replicas {
  readonly #all: readonly Supervisor[]
  #nextIndex = 0

  constructor(all: readonly Supervisor[]) {
    this.#all = all
  }

  /** Picks the replica with the fewest pending calls, round robin among equals; undefined if none is ready. */
  pickLeastLoaded(): Supervisor | undefined {
    const count = this.#all.length
    const first = ++this.#nextIndex % count
    let best: Supervisor | undefined
    let fewest = Infinity
    for (let step = 0; step < count; step++) {
      const supervisor = this.#all[(first + step) % count]
      const calls = supervisor?.connection?.use.inFlight ?? Infinity
      if (calls >= fewest) continue
      fewest = calls
      best = supervisor
    }
    return best
  }

  listOthers(main: Supervisor): Supervisor[] {
    return this.#all.filter(supervisor => supervisor !== main)
  }
}

type ConnectionsLoad = Pick<UpstreamRuntime, 'instances' | 'inFlight'>

/** Measures connection load, with the era if it differs from the main one's. */
export function measureConnectionsLoad(
  connections: readonly Connection[],
  main: Connection | undefined,
): ConnectionsLoad {
  const own = main?.server?.era
  const instances = connections.map(({ transport, use, server }) => ({
    ...(transport.pid === undefined ? {} : { pid: transport.pid }),
    ...(own === undefined || server === undefined || server.era === own ? {} : { era: server.era }),
    startedAt: use.startedAt,
    inFlight: use.inFlight,
  }))
  return { instances, inFlight: instances.reduce((sum, { inFlight }) => sum + inFlight, 0) }
}
