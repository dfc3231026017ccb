import type { Clock } from '../../../src/plugin.ts'
import type { CallDetail } from '../types.ts'
import { rowOf } from './call-log.ts'
import type { Streams } from './streams.ts'

/** Time between two events about calls: many calls are told as one. */
const EVERY_MS = 1000

/** Tells pages that there are new calls: at once, and again after a while however many come. A call that follows another costs a count. */
export class CallFeed {
  readonly #clock: Clock
  readonly #streams: Streams
  #newest: CallDetail | undefined
  #count = 0
  #isResting = false

  constructor(clock: Clock, streams: Streams) {
    this.#clock = clock
    this.#streams = streams
  }

  add(call: CallDetail): void {
    if (!this.#streams.isHeard) return
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
    this.#streams.tell({ type: 'call', call: rowOf(call), count })
    this.#clock.after(EVERY_MS, () => {
      this.#isResting = false
      this.#tell()
    })
  }
}
