import type { Clock } from '../api/index.ts'

const WINDOW_MS = 10_000
const MAX_LINES = 1000
const MAX_BYTES = 1024 * 1024

/** How much of what a server sends may be no message: 1,000 lines or 1 MiB in ten seconds. */
export class GarbageBudget {
  readonly #clock: Clock
  #startedAt = -Infinity
  #lines = 0
  #bytes = 0
  #exceededAt = -Infinity

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** True for the message that breaks the budget, once in a window. */
  spend(bytes: number): boolean {
    const now = this.#clock.now()
    if (now - this.#startedAt >= WINDOW_MS) {
      this.#startedAt = now
      this.#lines = this.#bytes = 0
    }
    const wasWithin = this.#isWithin()
    this.#lines++
    this.#bytes += bytes
    if (this.#isWithin()) return false
    this.#exceededAt = now
    return wasWithin
  }

  /** What is wrong with it, as one line for people; undefined ten seconds after the last message too many. */
  get degraded(): string | undefined {
    if (this.#clock.now() - this.#exceededAt >= WINDOW_MS) return undefined
    return `it sends what is no message: ${this.#lines} lines, ${this.#bytes} bytes within 10 s; the log has a sample`
  }

  #isWithin(): boolean {
    return this.#lines <= MAX_LINES && this.#bytes <= MAX_BYTES
  }
}
