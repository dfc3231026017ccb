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

  /** Milliseconds to wait before the next try: half to all of 500 ms, 1 s, 2 s, … 30 s. */
  next(): number {
    const longest = Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(this.#tries++, 16))
    return Math.round(longest * (0.5 + 0.5 * this.#random()))
  }

  reset(): void {
    this.#tries = 0
  }
}
