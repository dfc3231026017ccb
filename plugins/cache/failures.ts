import type { Clock } from '../../src/plugin.ts'

const MAX_FAILURES = 1000

interface Failure {
  readonly upstream: string
  readonly error: unknown
  readonly until: number
}

/** Remembers for a moment which lists could not be asked for, so that not everybody waits for the same nothing. */
export class Failures {
  readonly #byKey = new Map<string, Failure>()
  readonly #ttlMs: number
  readonly #clock: Clock

  constructor(ttlMs: number, clock: Clock) {
    this.#ttlMs = ttlMs
    this.#clock = clock
  }

  remember(key: string, upstream: string, error: unknown): void {
    if (this.#ttlMs === 0) return
    this.#byKey.delete(key)
    this.#byKey.set(key, { upstream, error, until: this.#clock.now() + this.#ttlMs })
    const oldest = this.#byKey.keys().next().value
    if (this.#byKey.size > MAX_FAILURES && oldest !== undefined) this.#byKey.delete(oldest)
  }

  find(key: string): Failure | undefined {
    const failure = this.#byKey.get(key)
    if (failure === undefined || failure.until > this.#clock.now()) return failure
    this.#byKey.delete(key)
    return undefined
  }

  /** The server may have recovered. */
  forget(upstream?: string): void {
    for (const [key, failure] of this.#byKey)
      if (upstream === undefined || failure.upstream === upstream) this.#byKey.delete(key)
  }
}
