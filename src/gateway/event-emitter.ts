import type { Log, LogLine, Upstream } from '../api/index.ts'
import { getErrorMessage } from '../errors/errors.ts'
import type { GatewayEvents } from '../api/gateway.ts'

type EventListeners = { readonly [E in keyof GatewayEvents]: Set<(event: GatewayEvents[E]) => void> }

/** Gateway event listeners. Errors in a listener are logged and do not affect the others. */
export class GatewayEventEmitter {
  readonly #listeners: EventListeners = {
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
    // Wrap the function, so that adding it twice calls it twice and removes it once.
    const own = (payload: GatewayEvents[E]): void => listener(payload)
    this.#listeners[event].add(own)
    return () => void this.#listeners[event].delete(own)
  }

  emit<E extends keyof GatewayEvents>(event: E, payload: GatewayEvents[E]): void {
    for (const listener of this.#listeners[event]) {
      try {
        listener(payload)
      } catch (error) {
        this.#log.error('event listener failed', { event, reason: getErrorMessage(error) })
      }
    }
  }
}

/** Follows upstream logs while there is a subscriber. */
export class UpstreamLogFeed {
  readonly #emit: (upstream: string, line: LogLine) => void
  #leaves: readonly (() => void)[] = []
  #upstreams: readonly Upstream[] = []
  #followerCount = 0

  constructor(emit: (upstream: string, line: LogLine) => void) {
    this.#emit = emit
  }

  /** Replaces the upstreams. */
  setUpstreams(upstreams: readonly Upstream[]): void {
    this.#upstreams = upstreams
    this.#updateFollowing()
  }

  /** Follows the logs; the returned function stops it. */
  follow(): () => void {
    this.#followerCount++
    this.#updateFollowing()
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#followerCount--
      this.#updateFollowing()
    }
  }

  #updateFollowing(): void {
    for (const leave of this.#leaves) leave()
    const followed = this.#followerCount > 0 ? this.#upstreams : []
    this.#leaves = followed.flatMap(({ name, logs }) => logs?.follow(line => this.#emit(name, line)) ?? [])
  }
}
