import type { Log } from '../api/index.ts'
import { reasonOf } from '../errors/errors.ts'
import type { GatewayEvents } from '../api/gateway.ts'

type Listeners = { readonly [E in keyof GatewayEvents]: Set<(event: GatewayEvents[E]) => void> }

/** Who listens to a gateway. What a listener throws is logged, and the others still hear. */
export class Events {
  readonly #listeners: Listeners = {
    state: new Set(),
    reloaded: new Set(),
    refused: new Set(),
    log: new Set(),
  }
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  on<E extends keyof GatewayEvents>(event: E, listener: (event: GatewayEvents[E]) => void): () => void {
    // The same function given twice is heard twice, and taken back once.
    const own = (what: GatewayEvents[E]): void => listener(what)
    this.#listeners[event].add(own)
    return () => void this.#listeners[event].delete(own)
  }

  emit<E extends keyof GatewayEvents>(event: E, what: GatewayEvents[E]): void {
    for (const listener of this.#listeners[event]) {
      try {
        listener(what)
      } catch (error) {
        this.#log.error('a listener of the gateway failed', { event, reason: reasonOf(error) })
      }
    }
  }
}
