import type { Clock } from '../api/index.ts'

/** Bytes that may pass at once, and in each second from then on. */
interface Rate {
  readonly atOnce: number
  readonly perSecond: number
}

/** Bounds how fast bytes are taken that are worth no processor, such as those of bodies that nobody wants. */
export class Allowance {
  readonly #clock: Clock
  readonly #rate: Rate
  #spent = 0
  #since: number

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock
    this.#rate = rate
    this.#since = clock.now()
  }

  /** Spends bytes that have come; returns the milliseconds until more may: 0 where these were allowed. */
  spend(bytes: number): number {
    const { atOnce, perSecond } = this.#rate
    const now = this.#clock.now()
    this.#spent = Math.max(0, this.#spent - ((now - this.#since) * perSecond) / 1000) + bytes
    this.#since = now
    return (Math.max(0, this.#spent - atOnce) * 1000) / perSecond
  }
}
