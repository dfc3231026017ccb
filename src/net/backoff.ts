/** Maximum starts per window; a start counts when it has failed. */
const MAX_RECENT_RESTARTS = 6
const BUDGET_WINDOW_MS = 10_000
/** Failed starts in a row, without a healthy minute, after which a process is only started occasionally. */
const MAX_CONSECUTIVE_RESTARTS = 10
const PROBE_MS = 5 * 60_000

/** Delay until the next restart. */
export interface RestartDelay {
  readonly ms: number
  /** Reason, if the restart budget is exhausted. */
  readonly note: string | undefined
}

/** Restarts a server with exponential backoff, and within a budget if each start costs a process. */
export class RestartPolicy {
  readonly #backoff = new Backoff()
  readonly #isBounded: boolean
  /** Times of the failed starts since the last healthy minute. */
  #failures: number[] = []

  constructor(isBounded: boolean) {
    this.#isBounded = isBounded
  }

  /** Records a connection that ended after this many healthy milliseconds. */
  recordSuccess(ms: number): void {
    if (ms >= HEALTHY_MS) this.reset()
  }

  /** Records a failed start. False if the budget allows no further one now. */
  recordFailure(now: number): boolean {
    this.#failures = [...this.#failures, now].slice(-MAX_CONSECUTIVE_RESTARTS)
    return !this.#isBounded || this.#wait(now) === 0
  }

  computeDelay(now: number): RestartDelay {
    const ms = this.#backoff.next()
    if (!this.#isBounded) return { ms, note: undefined }
    if (this.#failures.length < MAX_CONSECUTIVE_RESTARTS) return { ms: Math.max(ms, this.#wait(now)), note: undefined }
    const seconds = Math.ceil((now - (this.#failures[0] ?? now)) / 1000)
    const note = `has been crashing for ${seconds} s; retrying in 5 min`
    return { ms: PROBE_MS, note }
  }

  /** Resets the failures: the server has proved healthy, or a retry was requested. */
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
/** Healthy milliseconds after which earlier failures no longer count. */
export const HEALTHY_MS = 60_000

/** Exponential backoff with jitter, so that several servers do not retry in step. */
export class Backoff {
  #tries = 0

  /** Milliseconds to wait before the next try: half to all of 500 ms, 1 s, 2 s, … 30 s. */
  next(): number {
    const longest = Math.min(MAX_MS, FIRST_MS * 2 ** Math.min(this.#tries++, 16))
    return Math.round(longest * (0.5 + 0.5 * Math.random()))
  }

  reset(): void {
    this.#tries = 0
  }
}
