import type { Clock } from '../api/index.ts'

/** While something is busy, it is looked at again after this long at most. */
const BUSY_MS = 1000
const SHORTEST_MS = 10

/** What may rest. */
export interface Restful {
  /** Since when nobody has needed it; undefined while somebody does. */
  idleSince(): number | undefined
  rest(): void
}

/** Ends what nobody has needed for a while. */
export class IdleRest {
  readonly #ms: number
  readonly #clock: Clock
  readonly #what: Restful
  #takeBack: (() => void) | undefined

  constructor(ms: number, clock: Clock, what: Restful) {
    this.#ms = ms
    this.#clock = clock
    this.#what = what
  }

  /** Watches from now on. */
  watch(): void {
    this.#takeBack?.()
    const idleSince = this.#what.idleSince()
    const left =
      idleSince === undefined ? Math.min(this.#ms, BUSY_MS) : idleSince + this.#ms - this.#clock.now()
    this.#takeBack = this.#clock.after(Math.max(left, SHORTEST_MS), () => this.#check())
  }

  stop(): void {
    this.#takeBack?.()
    this.#takeBack = undefined
  }

  #check(): void {
    const idleSince = this.#what.idleSince()
    if (idleSince === undefined || this.#clock.now() - idleSince < this.#ms) return this.watch()
    this.stop()
    this.#what.rest()
  }
}
