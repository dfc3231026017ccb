const FIRST_MS = 500
const LONGEST_MS = 30_000
/** After this long in good health, what went wrong before no longer counts. */
export const HEALTHY_MS = 60_000

/** Ever longer pauses between tries, with jitter so that many servers do not try in step. */
export class Backoff {
  readonly #random: () => number
  #tries = 0

  constructor(random: () => number = Math.random) {
    this.#random = random
  }

  /** Milliseconds to wait before the next try. */
  next(): number {
    const pause = FIRST_MS * 2 ** Math.min(this.#tries++, 16)
    return Math.min(LONGEST_MS, Math.round(pause * (0.8 + 0.4 * this.#random())))
  }

  reset(): void {
    this.#tries = 0
  }
}
