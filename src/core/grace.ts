import type { Clock, Config, Upstream } from '../api/index.ts'
import type { Kind } from '../protocol/methods.ts'
import { within } from '../util/clock.ts'
import { parseDuration } from '../util/units.ts'
import { liveOf } from './kept-upstream.ts'

/** Times at which somebody waited first: for a start (`undefined`), or for a list of a kind. */
type FirstWaits = Map<Kind | undefined, number>

/**
 * Limits the wait for an upstream that starts, or lists for the first time, to `lists.grace`. Its time counts from the first
 * who waited, also through a reload: one that hangs delays only the first list.
 */
export class Grace {
  /** The whole of it, in milliseconds. */
  readonly ms: number
  readonly #clock: Clock
  readonly #since: WeakMap<Upstream, FirstWaits>

  constructor({ lists }: Config, clock: Clock, before?: Grace) {
    this.ms = parseDuration(lists.grace)
    this.#clock = clock
    this.#since = before === undefined ? new WeakMap<Upstream, FirstWaits>() : before.#since
  }

  /** Milliseconds left to wait for an upstream that starts, or for its first list of a kind. */
  left(upstream: Upstream, kind?: Kind): number {
    const since = this.#since.get(liveOf(upstream))?.get(kind)
    return since === undefined ? this.ms : this.ms - (this.#clock.now() - since)
  }

  /** The same, which counts from now if nobody waited before. */
  begin(upstream: Upstream, kind?: Kind): number {
    const live = liveOf(upstream)
    const waits = this.#since.get(live) ?? new Map<Kind | undefined, number>()
    if (!waits.has(kind)) waits.set(kind, this.#clock.now())
    this.#since.set(live, waits)
    return Math.max(0, this.left(upstream, kind))
  }

  /** Waits for the first attempt to start an upstream, as long as that is still reasonable. */
  async wait(upstream: Upstream): Promise<void> {
    const started = upstream.start()
    const left = this.begin(upstream)
    if (left > 0) await within(this.#clock, left, started)
  }
}
