import type { Clock } from '../../src/plugin.ts'

const PER_SECOND = 50

/** Who is not let in writes at most so many lines a second: a flood must not push out what others did. */
export class Doorstep {
  readonly #clock: Clock
  readonly #tell: (more: number) => void
  #since = -Infinity
  #noted = 0
  #more = 0

  /** `tell` gets how many were not noted, once for each second that had such. */
  constructor(clock: Clock, tell: (more: number) => void) {
    this.#clock = clock
    this.#tell = tell
  }

  mayNote(): boolean {
    const now = this.#clock.now()
    if (now - this.#since >= 1000) {
      this.end()
      this.#since = now
      this.#noted = 0
    }
    if (this.#noted++ < PER_SECOND) return true
    this.#more++
    return false
  }

  /** Tells of those that were left out. */
  end(): void {
    if (this.#more > 0) this.#tell(this.#more)
    this.#more = 0
  }
}
