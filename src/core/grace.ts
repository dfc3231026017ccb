import { parseDuration } from '../util/units.ts'
import type { Clock, Config, Upstream } from './ports.ts'

/**
 * How long others wait for an upstream that starts or lists for the first time: `lists.grace` while there is nothing to show, and
 * `lists.stragglers` as soon as there is. The time of an upstream counts from the first who waited, and not anew for each.
 */
export class Grace {
  /** The whole of it, in milliseconds. */
  readonly ms: number
  readonly #stragglersMs: number
  readonly #clock: Clock
  readonly #since = new WeakMap<Upstream, number>()
  readonly #shown = Promise.withResolvers<void>()

  constructor({ lists }: Config, clock: Clock) {
    this.ms = parseDuration(lists.grace)
    this.#stragglersMs = Math.min(this.ms, parseDuration(lists.stragglers))
    this.#clock = clock
  }

  /** Some upstream has been spoken to, or has listed: there is something to show. */
  shown(): void {
    this.#shown.resolve()
  }

  /** Waits for an upstream to be spoken to for the first time, as long as that is still reasonable. */
  async wait(upstream: Upstream): Promise<void> {
    const started = upstream.start().then(() => {
      if (upstream.server !== undefined) this.shown()
    })
    const now = this.#clock.now()
    const since = this.#since.get(upstream) ?? now
    this.#since.set(upstream, since)
    const spent = now - since
    if (spent < this.ms) await this.within(started, { longest: this.ms - spent, spent })
  }

  /** Waits for the first list of an upstream: at most so long, and less where others have something to show. True when it came in time. */
  within(done: Promise<unknown>, { longest = this.ms, spent = 0, extra = 0 }): Promise<boolean> {
    const shortest = Math.max(0, this.#stragglersMs - spent)
    return new Promise(resolve => {
      const over = (isInTime: boolean) => (): void => {
        takeBack()
        takeBackShort()
        resolve(isInTime)
      }
      const takeBack = this.#clock.after(longest + extra, over(false))
      const takeBackShort = this.#clock.after(
        shortest + extra,
        () => void this.#shown.promise.then(over(false)),
      )
      done.then(over(true), over(true))
    })
  }
}
