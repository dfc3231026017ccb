import type { CallTimes, Clock } from '../api/index.ts'

/** Measures the time that a call spends outside the gateway. */
export class CallTimer implements CallTimes {
  upstream = 0
  client = 0
  tries = 0
  readonly #clock: Clock
  #askedAt = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Called when the first open client request starts. */
  startAsk(): void {
    this.#askedAt = this.#clock.now()
  }

  /** Called when no client request is open. */
  endAsk(): void {
    this.client += this.#clock.now() - this.#askedAt
  }

  /** Counts an upstream call's time, without its client requests. */
  async measure<T>(run: () => Promise<T>): Promise<T> {
    const [startedAt, clientBefore] = [this.#clock.now(), this.client]
    this.tries++
    try {
      return await run()
    } finally {
      this.upstream += this.#clock.now() - startedAt - (this.client - clientBefore)
    }
  }
}
