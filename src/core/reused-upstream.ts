import type { Call, Clock, Config, Session, Upstream, UpstreamConfig } from '../api/index.ts'
import type { Kind } from '../protocol/methods.ts'
import { settlesWithin } from '../util/clock.ts'
import { parseDuration } from '../util/units.ts'

/**
 * A running upstream that a reload reuses, because its spec differs only in fields that the core and plugins read.
 * Each generation sees its own spec.
 */
export class ReusedUpstream implements Upstream {
  readonly name: string
  readonly spec: UpstreamConfig
  readonly live: Upstream

  constructor(live: Upstream, spec: UpstreamConfig) {
    this.name = live.name
    this.spec = spec
    this.live = live
  }

  get state(): Upstream['state'] {
    return this.live.state
  }

  get problem(): Upstream['problem'] {
    return this.live.problem
  }

  get problemDetail(): Upstream['problemDetail'] {
    return this.live.problemDetail
  }

  get server(): Upstream['server'] {
    return this.live.server
  }

  get pid(): Upstream['pid'] {
    return this.live.pid
  }

  get dropped(): Upstream['dropped'] {
    return this.live.dropped
  }

  get runtime(): Upstream['runtime'] {
    return this.live.runtime
  }

  get degraded(): Upstream['degraded'] {
    return this.live.degraded
  }

  get logs(): Upstream['logs'] {
    return this.live.logs
  }

  get memory(): Upstream['memory'] {
    return this.live.memory
  }

  get isRemembered(): boolean {
    return this.live.isRemembered === true
  }

  dispatch(call: Call): ReturnType<Upstream['dispatch']> {
    return this.live.dispatch(call)
  }

  onSessionEnd(session: Session): void {
    this.live.onSessionEnd?.(session)
  }

  onRootsChange(changed: readonly Session[]): void {
    this.live.onRootsChange?.(changed)
  }

  start(): Promise<void> {
    return this.live.start()
  }

  stop(): Promise<void> {
    return this.live.stop()
  }
}

/** Returns the running upstream, the same in every generation that keeps it. */
export function getLiveUpstream(upstream: Upstream): Upstream {
  return upstream instanceof ReusedUpstream ? upstream.live : upstream
}

/** Times of the first wait: for a start (`undefined`), or for a list of a kind. */
type FirstWaits = Map<Kind | undefined, number>

/**
 * Limits the wait for a starting or unlisted upstream to `lists.grace`, counted from the first waiter, across
 * reloads.
 */
export class StartupGrace {
  /** Grace period in milliseconds. */
  readonly ms: number
  readonly #clock: Clock
  readonly #since: WeakMap<Upstream, FirstWaits>

  constructor({ lists }: Config, clock: Clock, before?: StartupGrace) {
    this.ms = parseDuration(lists.grace)
    this.#clock = clock
    this.#since = before === undefined ? new WeakMap<Upstream, FirstWaits>() : before.#since
  }

  /** Milliseconds left to wait for a starting upstream, or for its first list of a kind. */
  getRemaining(upstream: Upstream, kind?: Kind): number {
    const since = this.#since.get(getLiveUpstream(upstream))?.get(kind)
    return since === undefined ? this.ms : this.ms - (this.#clock.now() - since)
  }

  /** Does the same, and starts the grace period if this is the first wait. */
  startWaiting(upstream: Upstream, kind?: Kind): number {
    const live = getLiveUpstream(upstream)
    const waits = this.#since.get(live) ?? new Map<Kind | undefined, number>()
    if (!waits.has(kind)) waits.set(kind, this.#clock.now())
    this.#since.set(live, waits)
    return Math.max(0, this.getRemaining(upstream, kind))
  }

  /** Waits for an upstream's first start attempt, within the grace period. */
  async waitForStart(upstream: Upstream): Promise<void> {
    const started = upstream.start()
    const remainingMs = this.startWaiting(upstream)
    if (remainingMs > 0) await settlesWithin(this.#clock, remainingMs, started)
  }
}

/** True if a call can be made: an idle upstream starts for it. */
export function isUp({ state }: Upstream): boolean {
  return state === 'ready' || state === 'idle'
}
