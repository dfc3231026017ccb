import { parseDuration } from '../util/units.ts'
import { within } from '../util/within.ts'
import type { Clock, Config, Upstream } from './ports.ts'

/** How long others wait for an upstream that starts: `lists.grace`, counted from the first who waited, and not anew for each. */
export class Grace {
  /** The whole of it, in milliseconds. */
  readonly ms: number
  readonly #clock: Clock
  readonly #since = new WeakMap<Upstream, number>()

  constructor({ lists }: Config, clock: Clock) {
    this.ms = parseDuration(lists.grace)
    this.#clock = clock
  }

  /** Waits for an upstream to be spoken to for the first time, as long as that is still reasonable. */
  async wait(upstream: Upstream): Promise<void> {
    const started = upstream.start()
    const now = this.#clock.now()
    const since = this.#since.get(upstream) ?? now
    this.#since.set(upstream, since)
    const leftMs = since + this.ms - now
    if (leftMs > 0) await within(this.#clock, leftMs, started)
  }
}
