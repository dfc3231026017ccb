import { FairQueue } from '../../util/fair-queue.ts'

/**
 * Takes in large bodies one in each turn of the event loop, and callers in turns: to parse one takes long, so whatever else
 * arrives waits for one of them, and not for all that have come together.
 */
export class BodyTurns {
  readonly #queue = new FairQueue<() => void>()
  #isScheduled = false

  /** Calls `take` when it is this caller's turn. */
  next(caller: string, take: () => void): void {
    this.#queue.add(caller, take)
    this.#schedule()
  }

  #schedule(): void {
    if (this.#isScheduled || this.#queue.size === 0) return
    this.#isScheduled = true
    setImmediate(this.#step)
  }

  readonly #step = (): void => {
    this.#isScheduled = false
    this.#queue.take()?.()
    this.#schedule()
  }
}
