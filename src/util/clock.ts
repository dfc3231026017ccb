/** Timer and clock; every `Clock` has both. */
interface SweepClock {
  now(): number
  after(ms: number, callback: () => void): () => void
}

/** Repeats a task after it is armed, until the task returns false. */
export class Ticker {
  readonly #timer: Pick<SweepClock, 'after'>
  readonly #everyMs: () => number
  readonly #task: () => boolean
  #disarm: (() => void) | undefined

  /** `task` returns true to run again. */
  constructor(timer: Pick<SweepClock, 'after'>, everyMs: () => number, task: () => boolean) {
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
  /** Idle timeout. If it may change, `maxMs` bounds how late that is noticed. */
  readonly idleMs: () => number
  /** Lists the current items. */
  readonly list: () => Iterable<T>
  /** Returns the time since which an item is idle; undefined while in use. */
  readonly idleSince: (one: T) => number | undefined
  readonly close: (one: T) => void
  /** Minimum interval between sweeps. Default: 10 ms. */
  readonly minMs?: number
  /** Interval after which an item in use is checked again. Default: 1 s. */
  readonly busyMs?: number
  /** Maximum interval between sweeps. Default: unlimited. */
  readonly maxMs?: number
}

/** Closes items soon after their idle timeout. Runs only while there are items. */
export class IdleSweeper<T> {
  readonly #timer: SweepClock
  readonly #options: SweepOptions<T>
  readonly #ticker: Ticker
  /** Time until the next item can expire. */
  #nextMs = 0

  constructor(timer: SweepClock, options: SweepOptions<T>) {
    this.#timer = timer
    this.#options = options
    const { minMs = 10, maxMs = Infinity } = options
    this.#ticker = new Ticker(
      timer,
      () => Math.min(Math.max(this.#nextMs, minMs), maxMs),
      () => this.sweep(),
    )
  }

  /** Starts sweeping after an item was added. */
  arm(): void {
    this.#nextMs = this.#options.idleMs()
    this.#ticker.arm()
  }

  stop(): void {
    this.#ticker.stop()
  }

  /** Returns true if an item has expired, even before it is swept. */
  isExpired(one: T): boolean {
    return this.#getRemainingMs(one) <= 0
  }

  #getRemainingMs(one: T): number {
    const { idleSince, idleMs, busyMs = 1000 } = this.#options
    const since = idleSince(one)
    return since === undefined ? Math.min(idleMs(), busyMs) : since + idleMs() - this.#timer.now()
  }

  /** Closes expired items; returns true if any items remain. */
  sweep(): boolean {
    const remainingMs: number[] = []
    for (const one of [...this.#options.list()]) {
      const ms = this.#getRemainingMs(one)
      if (ms > 0) remainingMs.push(ms)
      else this.#options.close(one)
    }
    this.#nextMs = remainingMs.reduce((min, ms) => Math.min(min, ms), Infinity)
    return remainingMs.length > 0
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

/** Clock with timers. */
interface Timer {
  after(ms: number, callback: () => void): () => void
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
