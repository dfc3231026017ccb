import type { Clock } from '../../src/plugin.ts'

/** When something is due, and its neighbours in the order of that. */
export interface Alarm<T> {
  readonly owner: T
  readonly at: number
  before: Alarm<T> | undefined
  after: Alarm<T> | undefined
  isSet: boolean
}

/**
 * Many alarms on one timer. They all last about as long, so that they come in order: an alarm costs a few links, and
 * one that is cancelled wakes nobody but, at most, the timer once.
 */
export class Alarms<T> {
  readonly #clock: Clock
  readonly #ring: (owner: T) => void
  #first: Alarm<T> | undefined
  #last: Alarm<T> | undefined
  #disarm: (() => void) | undefined
  #armedFor = 0

  /** `ring` is called once with the owner of each alarm that is due. */
  constructor(clock: Clock, ring: (owner: T) => void) {
    this.#clock = clock
    this.#ring = ring
  }

  /** Sets an alarm for a time of the clock. */
  set(owner: T, at: number): Alarm<T> {
    let before = this.#last
    while (before !== undefined && before.at > at) before = before.before
    const after = before === undefined ? this.#first : before.after
    const alarm: Alarm<T> = { owner, at, before, after, isSet: true }
    if (before === undefined) this.#first = alarm
    else before.after = alarm
    if (after === undefined) this.#last = alarm
    else after.before = alarm
    if (before === undefined && (this.#disarm === undefined || at < this.#armedFor)) this.#arm(at)
    return alarm
  }

  /** Takes an alarm back; one that has rung is none any more. */
  take(alarm: Alarm<T>): void {
    if (!alarm.isSet) return
    alarm.isSet = false
    const { before, after } = alarm
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    if (this.#first === undefined) this.#rest()
  }

  #arm(at: number): void {
    this.#disarm?.()
    this.#armedFor = at
    this.#disarm = this.#clock.after(Math.max(0, Math.ceil(at - this.#clock.now())), this.#sweep)
  }

  #rest(): void {
    this.#disarm?.()
    this.#disarm = undefined
  }

  readonly #sweep = (): void => {
    this.#disarm = undefined
    const now = this.#clock.now()
    for (let due = this.#first; due !== undefined && due.at <= now; due = this.#first) {
      this.take(due)
      this.#ring(due.owner)
    }
    if (this.#first !== undefined && this.#disarm === undefined) this.#arm(this.#first.at)
  }
}
