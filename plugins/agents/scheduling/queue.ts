import type { Clock } from '../../../src/plugin.ts'

/** Why a task gets no place. */
export type NoPlace = 'full' | 'late' | 'taken-back'

/** Called when the place is not needed any more; the second time it does nothing. */
export type Leave = () => void

interface Waiting {
  readonly grant: (leave: Leave) => void
}

/** The places of one agent, and who waits for one: owners take turns, and each owner's tasks come in their order. */
export class PlaceQueue {
  #concurrent: number
  #max: number
  readonly #clock: Clock
  /** By owner; a Map keeps the order, and who was served goes to the end. */
  readonly #waiting = new Map<string, Waiting[]>()
  #running = 0
  #queued = 0

  constructor(clock: Clock, { concurrent, queue }: { concurrent: number; queue: number }) {
    this.#clock = clock
    this.#concurrent = concurrent
    this.#max = queue
  }

  get running(): number {
    return this.#running
  }

  get queued(): number {
    return this.#queued
  }

  /** New bounds from now on; whoever has a place keeps it. */
  resize({ concurrent, queue }: { concurrent: number; queue: number }): void {
    this.#concurrent = concurrent
    this.#max = queue
    this.#serve()
  }

  /** A place, at once or when it is this owner's turn. Who was admitted before waits even where the queue is full. */
  enter(owner: string, maxMs: number, signal: AbortSignal, wasAdmitted = false): Promise<Leave | NoPlace> {
    if (signal.aborted) return Promise.resolve('taken-back')
    if (this.#running < this.#concurrent && this.#queued === 0) return Promise.resolve(this.#occupy())
    if (this.#queued >= this.#max && !wasAdmitted) return Promise.resolve('full')
    return new Promise(resolve => {
      const settle = (result: Leave | NoPlace): void => {
        takeBack()
        signal.removeEventListener('abort', onAbort)
        resolve(result)
      }
      const waiting = { grant: settle }
      const onAbort = (): void => this.#giveUp(owner, waiting, () => settle('taken-back'))
      const takeBack = this.#clock.after(maxMs, () => this.#giveUp(owner, waiting, () => settle('late')))
      signal.addEventListener('abort', onAbort, { once: true })
      this.#waiting.set(owner, [...(this.#waiting.get(owner) ?? []), waiting])
      this.#queued++
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
      const [next] = this.#waiting
      if (next === undefined) return
      const [owner, [first, ...others]] = next
      this.#waiting.delete(owner)
      if (others.length > 0) this.#waiting.set(owner, others)
      if (first === undefined) continue
      this.#queued--
      first.grant(this.#occupy())
    }
  }

  #giveUp(owner: string, waiting: Waiting, then: () => void): void {
    const all = this.#waiting.get(owner) ?? []
    if (!all.includes(waiting)) return
    const others = all.filter(other => other !== waiting)
    if (others.length > 0) this.#waiting.set(owner, others)
    else this.#waiting.delete(owner)
    this.#queued--
    then()
  }
}
