/** At most this many starts in any time of this length; a start counts when it has failed. */
const MAX_RECENT_RESTARTS = 6
const BUDGET_WINDOW_MS = 10_000
/** As many in a row without a healthy minute, and a process is only tried now and then. */
const MAX_CONSECUTIVE_RESTARTS = 10
const PROBE_MS = 5 * 60_000

/** Delay until the next restart. */
export interface RestartDelay {
  readonly ms: number
  /** Reason, if the restart budget is exhausted. */
  readonly note: string | undefined
}

/** Starts a server again with ever longer pauses and, where each start costs a process, within a budget. */
export class RestartPolicy {
  readonly #backoff: Backoff
  readonly #isBounded: boolean
  /** When the last starts without a healthy minute failed. */
  #failures: number[] = []

  constructor(isBounded: boolean, backoff = new Backoff()) {
    this.#isBounded = isBounded
    this.#backoff = backoff
  }

  /** A connection has ended after this long in good health. */
  recordSuccess(ms: number): void {
    if (ms >= HEALTHY_MS) this.reset()
  }

  /** A start has come to nothing. False when there may be no other one now. */
  recordFailure(now: number): boolean {
    this.#failures = [...this.#failures, now].slice(-MAX_CONSECUTIVE_RESTARTS)
    return !this.#isBounded || this.#wait(now) === 0
  }

  /** When to try again. */
  computeDelay(now: number): RestartDelay {
    const ms = this.#backoff.next()
    if (!this.#isBounded) return { ms, note: undefined }
    if (this.#failures.length < MAX_CONSECUTIVE_RESTARTS)
      return { ms: Math.max(ms, this.#wait(now)), note: undefined }
    const seconds = Math.ceil((now - (this.#failures[0] ?? now)) / 1000)
    const note = `it keeps ending, for ${seconds} s now; next try in 5 min`
    return { ms: PROBE_MS, note }
  }

  /** Forgets the failures: the server has proved healthy, or somebody wants it tried again whatever was before. */
  reset(): void {
    this.#failures = []
    this.#backoff.reset()
  }

  #wait(now: number): number {
    const oldest = this.#failures.at(-MAX_RECENT_RESTARTS)
    return oldest === undefined ? 0 : Math.max(0, oldest + BUDGET_WINDOW_MS - now)
  }
}

const FIRST_MS = 500
const MAX_MS = 30_000
/** After this long in good health, what went wrong before no longer counts. */
export const HEALTHY_MS = 60_000

/** Ever longer pauses between tries, with jitter so that many servers do not try in step. */
export class Backoff {
  readonly #random: () => number
  #tries = 0

  constructor(random: () => number = Math.random) {
    this.#random = random
  }

  /** Milliseconds to wait before the next try: half to all of 500 ms, 1 s, 2 s, … 30 s. */
  next(): number {
    const longest = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(this.#tries++, 16))
    return Math.round(longest * (0.5 + 0.5 * this.#random()))
  }

  reset(): void {
    this.#tries = 0
  }
}
