import type { Clock } from '../../api/index.ts'
import type { Era } from '../../protocol/versions.ts'

/** A verdict of "legacy" never corrects itself, so it does not hold for ever. */
const LEGACY_MS = 24 * 60 * 60 * 1000

/** What is known of a server's era, so that it is not probed at every start. */
export class EraMemory {
  readonly #clock: Clock
  #era: Era | undefined
  #until = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  recall(): Era | undefined {
    if (this.#clock.now() >= this.#until) this.#era = undefined
    return this.#era
  }

  /** Notes a verdict, which may be some milliseconds old. */
  learn(era: Era, ageMs = 0): void {
    this.#era = era
    this.#until = era === 'modern' ? Infinity : this.#clock.now() + LEGACY_MS - ageMs
  }

  forget(): void {
    this.#era = undefined
  }
}
