import type { Config, ListenerConfig } from '../api/index.ts'
import { gatewayError } from '../errors/errors.ts'
import type { Listening, WorkerProcess } from './worker-process.ts'

/**
 * Ports that the system chose for listeners with port 0. Clients know them: processes that begin when all others have died
 * take the same ones again.
 */
export class ChosenPorts {
  /** By listener: the port at which clients find it. */
  readonly #known = new Map<string, number>()
  /** By worker: the port of each listener in the configuration of its process; 0 where the system chose it. */
  readonly #given = new Map<number, Map<string, number>>()
  /** Workers whose processes listen. */
  readonly #listening = new Set<number>()

  /**
   * Configuration for the process of a worker. node:cluster gives one port to processes that ask for it in the same words:
   * a new one asks as those do that live.
   */
  fill<L extends { readonly config: Config }>(worker: number, loaded: L): L {
    const given = this.#given.get(worker) ?? new Map<string, number>()
    this.#given.set(worker, given)
    const listeners = Object.entries(loaded.config.listeners).map(([name, spec]) => {
      const key = keyOf(name, spec)
      if (key === undefined) return [name, spec] as const
      const port = given.get(key) ?? this.#ofOthers(key) ?? this.#known.get(key) ?? 0
      given.set(key, port)
      return [name, { ...spec, port } as ListenerConfig] as const
    })
    return { ...loaded, config: { ...loaded.config, listeners: Object.fromEntries(listeners) } }
  }

  #ofOthers(key: string): number | undefined {
    for (const given of this.#given.values()) if (given.has(key)) return given.get(key)
    return undefined
  }

  /** The process of a worker has ended. */
  ended(worker: number): void {
    this.#given.delete(worker)
    this.#listening.delete(worker)
  }

  /** Clients know from now on where these workers listen. */
  learn({ listeners }: Config, workers: readonly Pick<WorkerProcess, 'isReady' | 'listeners'>[]): void {
    for (const { name, url } of workers.flatMap(one => (one.isReady ? one.listeners : []))) {
      const key = keyOf(name, listeners[name])
      if (key !== undefined && url !== undefined) this.#known.set(key, portOf(url))
    }
  }

  /**
   * Looks at where a new process listens. Refuses other addresses than clients know: the last one that had asked for a port in
   * these words died before this one got it. Where others listen, it is where they are.
   * @throws GatewayError GW_LISTEN
   */
  check(worker: number, { listeners }: Config, listening: readonly Listening[]): void {
    for (const { name, url } of this.#listening.size === 0 ? listening : []) {
      const known = this.#known.get(keyOf(name, listeners[name]) ?? '')
      if (known === undefined || url === undefined || portOf(url) === known) continue
      this.ended(worker)
      const why = `clients know it at port ${known}, which the next process takes`
      throw gatewayError('GW_LISTEN', { listener: name, address: url, why })
    }
    this.#listening.add(worker)
  }
}

/** Key of a listener whose port the system chooses, as long as it is at the same host. */
function keyOf(name: string, spec: ListenerConfig | undefined): string | undefined {
  return spec?.type === 'http' && spec.port === 0 ? JSON.stringify([name, spec.host]) : undefined
}

function portOf(url: string): number {
  return Number(new URL(url).port)
}
