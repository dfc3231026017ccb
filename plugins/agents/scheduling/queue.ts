import { FairQueue, type Clock } from '../../../src/plugin.ts'

/** Reasons why a task gets no place. */
type NoPlace = 'full' | 'late' | 'cancelled'

/** Called when the place is not needed any more; the second time it does nothing. */
export type Leave = () => void

interface Waiting {
  readonly grant: (leave: Leave) => void
}

/** The places of one agent, and the tasks that wait for one: owners take turns, and each owner's tasks come in their order. */
export class PlaceQueue {
  #concurrent: number
  #max: number
  readonly #clock: Clock
  readonly #waiting = new FairQueue<Waiting>()
  #running = 0

  constructor(clock: Clock, { concurrent, queue }: { concurrent: number; queue: number }) {
    this.#clock = clock
    this.#concurrent = concurrent
    this.#max = queue
  }

  get running(): number {
    return this.#running
  }

  get queued(): number {
    return this.#waiting.size
  }

  /** True if no more tasks of this owner may wait: of whom none waits finds a place behind full ones, up to as many again. */
  isFullFor(owner: string): boolean {
    const max = this.#waiting.sizeOf(owner) === 0 ? 2 * this.#max : this.#max
    return this.#running >= this.#concurrent && this.queued >= max
  }

  /** New bounds from now on; a task that has a place keeps it. */
  resize({ concurrent, queue }: { concurrent: number; queue: number }): void {
    this.#concurrent = concurrent
    this.#max = queue
    this.#serve()
  }

  /** A place, at once or when it is this owner's turn. A task that was admitted before waits even where the queue is full. */
  enter(owner: string, maxMs: number, signal: AbortSignal, wasAdmitted = false): Promise<Leave | NoPlace> {
    if (signal.aborted) return Promise.resolve('cancelled')
    if (this.#running < this.#concurrent && this.queued === 0) return Promise.resolve(this.#occupy())
    if (this.isFullFor(owner) && !wasAdmitted) return Promise.resolve('full')
    return new Promise(resolve => {
      const settle = (result: Leave | NoPlace): void => {
        stopTimer()
        signal.removeEventListener('abort', onAbort)
        resolve(result)
      }
      const waiting = { grant: settle }
      const giveUp = (why: NoPlace): void => {
        if (this.#waiting.delete(waiting)) settle(why)
      }
      const onAbort = (): void => giveUp('cancelled')
      const stopTimer = this.#clock.after(maxMs, () => giveUp('late'))
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiting.add(owner, waiting)
      this.#serve()
    })
  }

  #occupy(): Leave {
    this.#running++
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#running--
      this.#serve()
    }
  }

  #serve(): void {
    while (this.#running < this.#concurrent) {
      const next = this.#waiting.take()
      if (next === undefined) return
      next.grant(this.#occupy())
    }
  }
}
