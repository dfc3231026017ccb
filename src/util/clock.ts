/** Clock with timers. */
interface Timer {
  after(ms: number, callback: () => void): () => void
}

/** Repeats a task after it is armed, until the task returns false. */
export class Ticker {
  readonly #timer: Timer
  readonly #everyMs: () => number
  readonly #task: () => boolean
  #disarm: (() => void) | undefined

  /** `task` returns true to run again. */
  constructor(timer: Timer, everyMs: () => number, task: () => boolean) {
    this.#timer = timer
    this.#everyMs = everyMs
    this.#task = task
  }

  arm(): void {
    this.#disarm ??= this.#timer.after(this.#everyMs(), () => {
      this.#disarm = undefined
      if (this.#task()) this.arm()
    })
  }

  stop(): void {
    this.#disarm?.()
    this.#disarm = undefined
  }
}

/** Sweeper settings. */
interface SweepOptions<T> {
  /** Idle timeout, which may change. */
  readonly idleMs: () => number
  /** Lists the current items. */
  readonly list: () => Iterable<T>
  /** Returns the time since which an item is idle; undefined while in use. */
  readonly idleSince: (one: T) => number | undefined
  readonly close: (one: T) => void
}

const MIN_SWEEP_MS = 10
const MAX_SWEEP_MS = 30_000
/** Sweeps per idle timeout: an item may live a quarter longer. */
const SWEEPS_PER_TIMEOUT = 4

/** Closes items soon after their idle timeout. Runs only while there are items. */
export class IdleSweeper<T> {
  readonly #clock: Timer & { now(): number }
  readonly #options: SweepOptions<T>
  readonly #ticker: Ticker

  constructor(clock: Timer & { now(): number }, options: SweepOptions<T>) {
    this.#clock = clock
    this.#options = options
    this.#ticker = new Ticker(
      clock,
      () => Math.min(Math.max(options.idleMs() / SWEEPS_PER_TIMEOUT, MIN_SWEEP_MS), MAX_SWEEP_MS),
      () => this.sweep(),
    )
  }

  /** Starts sweeping after an item was added. */
  arm(): void {
    this.#ticker.arm()
  }

  stop(): void {
    this.#ticker.stop()
  }

  /** Returns true if an item has expired, even before it is swept. */
  isExpired(one: T): boolean {
    const since = this.#options.idleSince(one)
    return since !== undefined && this.#clock.now() - since >= this.#options.idleMs()
  }

  /** Closes expired items; returns true if any items remain. */
  sweep(): boolean {
    const items = [...this.#options.list()]
    const expired = items.filter(one => this.isExpired(one))
    for (const one of expired) this.#options.close(one)
    return items.length > expired.length
  }
}

/** Real time: monotonic milliseconds, and timers that never keep the process alive. */
export const systemClock = Object.freeze({
  now: (): number => performance.now(),
  after(ms: number, callback: () => void): () => void {
    const timer = setTimeout(callback, ms).unref()
    return () => clearTimeout(timer)
  },
})

/**
 * Returns milliseconds since 1970, for times that other processes read as well. Monotonic from the process start, so
 * changes of the system clock have no effect.
 */
export function getSteadyTime(): number {
  return performance.timeOrigin + performance.now()
}

/** Waits for a promise with a timeout. Returns true if it settled in time, even if it rejected. */
export function settlesWithin(timer: Timer, ms: number, done: Promise<unknown>): Promise<boolean> {
  return new Promise(resolve => {
    const takeBack = timer.after(ms, () => resolve(false))
    const inTime = (): void => {
      takeBack()
      resolve(true)
    }
    done.then(inTime, inTime)
  })
}

/** Waits for a promise with a timeout; undefined if it is over or the promise rejected. */
export async function resultWithin<T>(timer: Timer, ms: number, done: Promise<T>): Promise<T | undefined> {
  return (await settlesWithin(timer, ms, done)) ? done.catch(() => undefined) : undefined
}
