import type { Clock } from '../../src/plugin.ts'

/** Scheduled timer, linked in time order. */
export interface QueuedTimer<T> {
  readonly owner: T
  readonly at: number
  previous: QueuedTimer<T> | undefined
  next: QueuedTimer<T> | undefined
  isSet: boolean
}

/**
 * Many timers on one clock timer. Timers of similar length arrive in order, so scheduling and cancelling take
 * constant time.
 */
export class TimerQueue<T> {
  readonly #clock: Clock
  readonly #fire: (owner: T) => void
  #first: QueuedTimer<T> | undefined
  #last: QueuedTimer<T> | undefined
  #disarm: (() => void) | undefined
  #armedFor = 0

  /** `fire` is called once for each due timer. */
  constructor(clock: Clock, ring: (owner: T) => void) {
    this.#clock = clock
    this.#fire = ring
  }

  /** Schedules a timer for a clock time. */
  schedule(owner: T, at: number): QueuedTimer<T> {
    let before = this.#last
    while (before !== undefined && before.at > at) before = before.previous
    const after = before === undefined ? this.#first : before.next
    const alarm: QueuedTimer<T> = { owner, at, previous: before, next: after, isSet: true }
    if (before === undefined) this.#first = alarm
    else before.next = alarm
    if (after === undefined) this.#last = alarm
    else after.previous = alarm
    if (before === undefined && (this.#disarm === undefined || at < this.#armedFor)) this.#arm(at)
    return alarm
  }

  /** Cancels a timer; no effect after it fired. */
  cancel(alarm: QueuedTimer<T>): void {
    if (!alarm.isSet) return
    alarm.isSet = false
    const { previous, next } = alarm
    if (previous === undefined) this.#first = next
    else previous.next = next
    if (next === undefined) this.#last = previous
    else next.previous = previous
    if (this.#first === undefined) this.#disarmTimer()
  }

  #arm(at: number): void {
    this.#disarm?.()
    this.#armedFor = at
    this.#disarm = this.#clock.after(Math.max(0, Math.ceil(at - this.#clock.now())), this.#fireDue)
  }

  #disarmTimer(): void {
    this.#disarm?.()
    this.#disarm = undefined
  }

  readonly #fireDue = (): void => {
    this.#disarm = undefined
    const now = this.#clock.now()
    for (let due = this.#first; due !== undefined && due.at <= now; due = this.#first) {
      this.cancel(due)
      this.#fire(due.owner)
    }
    if (this.#first !== undefined && this.#disarm === undefined) this.#arm(this.#first.at)
  }
}
