import type { Clock } from '../../../../src/plugin.ts'

interface Timer {
  readonly at: number
  readonly callback: () => void
}

/** A clock that stands still until it is moved on: for what must be exact to the millisecond. */
export class ManualClock implements Clock {
  #now = 1_000_000
  readonly #timers = new Set<Timer>()

  now(): number {
    return this.#now
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback }
    this.#timers.add(timer)
    return () => this.#timers.delete(timer)
  }

  advance(ms: number): void {
    this.#now += ms
    const due = [...this.#timers].filter(({ at }) => at <= this.#now).sort((one, other) => one.at - other.at)
    for (const timer of due) if (this.#timers.delete(timer)) timer.callback()
  }
}
