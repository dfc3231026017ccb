import type { Kind } from '../protocol/methods.ts'
import { parseDuration } from '../util/units.ts'
import type { Clock, Config, Upstream } from '../api/index.ts'

/**
 * Limits the wait for an upstream that starts or lists for the first time: `lists.grace` while there is nothing to show, and
 * `lists.stragglers` as soon as there is. The time of an upstream counts from the first who waited, and not anew for each.
 */
export class Grace {
  /** The whole of it, in milliseconds. */
  readonly ms: number
  readonly #stragglersMs: number
  readonly #clock: Clock
  readonly #since = new WeakMap<Upstream, number>()
  /** Some upstream has been spoken to. */
  readonly #greeted = Promise.withResolvers<void>()
  /** Some upstream has made its first list of a kind: who was only spoken to, or has listed something else, has nothing for it. */
  readonly #listed = new Map<Kind, PromiseWithResolvers<void>>()

  constructor({ lists }: Config, clock: Clock) {
    this.ms = parseDuration(lists.grace)
    this.#stragglersMs = Math.min(this.ms, parseDuration(lists.stragglers))
    this.#clock = clock
  }

  /** Some upstream has listed what it has of this kind. */
  listed(kind: Kind): void {
    this.#greeted.resolve()
    this.#listedOf(kind).resolve()
  }

  /** Milliseconds left to wait for an upstream that starts, where nothing else can be shown. */
  left(upstream: Upstream): number {
    const since = this.#since.get(upstream)
    return since === undefined ? this.ms : this.ms - (this.#clock.now() - since)
  }

  /** Waits for an upstream to be spoken to for the first time, as long as that is still reasonable: for a list, or to greet a client. */
  async wait(upstream: Upstream, kind?: Kind): Promise<void> {
    const started = upstream.start().then(() => {
      if (upstream.server !== undefined) this.#greeted.resolve()
    })
    if (!this.#since.has(upstream)) this.#since.set(upstream, this.#clock.now())
    const left = this.left(upstream)
    const others = kind === undefined ? this.#greeted : this.#listedOf(kind)
    if (left > 0) await this.#within(started, others.promise, { longest: left, spent: this.ms - left })
  }

  /** Waits for the first list of an upstream: at most so long, and less where others have something to show. True when it came in time. */
  within(done: Promise<unknown>, kind: Kind, { longest = this.ms, extra = 0 }): Promise<boolean> {
    return this.#within(done, this.#listedOf(kind).promise, { longest, extra })
  }

  #listedOf(kind: Kind): PromiseWithResolvers<void> {
    const listed = this.#listed.get(kind) ?? Promise.withResolvers<void>()
    this.#listed.set(kind, listed)
    return listed
  }

  #within(
    done: Promise<unknown>,
    others: Promise<void>,
    { longest = this.ms, spent = 0, extra = 0 },
  ): Promise<boolean> {
    const shortest = Math.max(0, this.#stragglersMs - spent)
    return new Promise(resolve => {
      const over = (isInTime: boolean) => (): void => {
        takeBack()
        takeBackShort()
        resolve(isInTime)
      }
      const takeBack = this.#clock.after(longest + extra, over(false))
      const takeBackShort = this.#clock.after(shortest + extra, () => void others.then(over(false)))
      done.then(over(true), over(true))
    })
  }
}
