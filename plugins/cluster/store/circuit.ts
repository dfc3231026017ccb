import type { Clock } from '../../../src/plugin.ts'

const FAILURES = 3
const OPEN_MS = 1000

/** Asks nobody for a second who has not answered three times, and then asks once. */
export class Circuit {
  readonly #clock: Pick<Clock, 'now'>
  #failures = 0
  #openUntil: number | undefined

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  get isOpen(): boolean {
    return this.#openUntil !== undefined
  }

  /** True if somebody may be asked now. The one who asks after a second is alone. */
  enter(): boolean {
    if (this.#openUntil === undefined) return true
    const now = this.#clock.now()
    if (now < this.#openUntil) return false
    this.#openUntil = now + OPEN_MS
    return true
  }

  answered(): void {
    this.#failures = 0
    this.#openUntil = undefined
  }

  failed(): void {
    this.#failures++
    if (this.#failures >= FAILURES) this.#openUntil = this.#clock.now() + OPEN_MS
  }
}
