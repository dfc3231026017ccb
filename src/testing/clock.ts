import type { Clock } from '../api/index.ts'

interface Timer {
  readonly at: number
  readonly callback: () => void
  readonly cancel: () => void
}

/**
 * Real time that tests can advance: limits, caches and deadlines immediately see the later time.
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
    const timeout = setTimeout(() => this.#fire(timer), ms).unref()
    const timer = { at: this.now() + ms, callback, cancel: () => clearTimeout(timeout) }
    this.#timers.add(timer)
    return () => this.#drop(timer)
  }

  /** Advances the time by milliseconds; due timers run before it returns, earliest first. */
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
