import type { Clock } from '../../../src/plugin.ts'
import type { CallDetail, Event } from '../types.ts'
import { rowOf } from './call-log.ts'

/** Time between two events about calls: many calls are told as one. */
const EVERY_MS = 1000

/** Pages that may hear of calls. */
export interface Ears {
  readonly isHeard: boolean
  tell(event: Event): void
}

/** Tells pages that there are new calls: at once, and again after a while however many come. A call that follows another costs a count. */
export class CallFeed {
  readonly #clock: Clock
  readonly #ears: Ears
  #newest: CallDetail | undefined
  #count = 0
  #isResting = false

  constructor(clock: Clock, ears: Ears) {
    this.#clock = clock
    this.#ears = ears
  }

  add(call: CallDetail): void {
    if (!this.#ears.isHeard) return
    this.#newest = call
    this.#count++
    if (!this.#isResting) this.#tell()
  }

  #tell(): void {
    const [call, count] = [this.#newest, this.#count]
    if (call === undefined) return
    this.#newest = undefined
    this.#count = 0
    this.#isResting = true
    this.#ears.tell({ type: 'call', call: rowOf(call), count })
    this.#clock.after(EVERY_MS, () => {
      this.#isResting = false
      this.#tell()
    })
  }
}
