import type { Clock } from '../api/index.ts'

interface Timer {
  readonly at: number
  readonly callback: () => void
  readonly cancel: () => void
}

/**
 * Time that passes as it does, and that a test can move on: limits, caches and deadlines then see a later time at once.
 *
 * ```ts
 * const clock = new TestClock()
 * const gateway = closeAfter(t, await testGateway({ upstreams: { web }, config, clock }))
 * clock.advance(60_000) // a minute later
 * ```
 */
export class TestClock implements Clock {
  #passed = 0
  readonly #timers = new Set<Timer>()

  now(): number {
    return performance.now() + this.#passed
  }

  after(ms: number, callback: () => void): () => void {
    const late = setTimeout(() => this.#fire(timer), ms).unref()
    const timer = { at: this.now() + ms, callback, cancel: () => clearTimeout(late) }
    this.#timers.add(timer)
    return () => this.#drop(timer)
  }

  /** Moves time on by so many milliseconds; timers that are due then run before it returns, the earliest first. */
  advance(ms: number): void {
    this.#passed += ms
    const due = [...this.#timers].filter(({ at }) => at <= this.now()).sort((a, b) => a.at - b.at)
    for (const timer of due) if (this.#timers.has(timer)) this.#fire(timer)
  }

  #fire(timer: Timer): void {
    this.#drop(timer)
    timer.callback()
  }

  #drop(timer: Timer): void {
    timer.cancel()
    this.#timers.delete(timer)
  }
}
