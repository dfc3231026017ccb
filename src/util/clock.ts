/** Counts the time; every `Clock` does. */
interface SweepClock {
  now(): number
  after(ms: number, callback: () => void): () => void
}

/** Repeats a task while there is need: it begins when it is armed, and rests when the task says that nothing is left. */
export class Ticker {
  readonly #timer: Pick<SweepClock, 'after'>
  readonly #everyMs: () => number
  readonly #task: () => boolean
  #disarm: (() => void) | undefined

  /** `task` returns whether it is needed again. */
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

/** Rules of a sweeper. */
interface SweepOptions<T> {
  /** Time that one may be idle. Where it may change, `maxMs` says how late that is seen. */
  readonly idleMs: () => number
  /** Those that are there now. */
  readonly list: () => Iterable<T>
  /** The time since which one is idle; undefined while it is in use. */
  readonly idleSince: (one: T) => number | undefined
  readonly close: (one: T) => void
  /** Least time between two looks, where there are many to look at. Default: 10 ms. */
  readonly minMs?: number
  /** Time after which one in use is looked at again. Default: a second. */
  readonly busyMs?: number
  /** Most time between two looks. Default: none. */
  readonly maxMs?: number
}

/** Ends what has been idle for a time, soon after that time is over. It looks only while there is something to look at. */
export class IdleSweeper<T> {
  readonly #timer: SweepClock
  readonly #options: SweepOptions<T>
  readonly #ticker: Ticker
  /** Time until the next of them can have been idle for too long. */
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

  /** Begins to look, as there is something now. */
  arm(): void {
    this.#nextMs = this.#options.idleMs()
    this.#ticker.arm()
  }

  stop(): void {
    this.#ticker.stop()
  }

  /** True when one has been idle for too long, even if it was not looked at yet. */
  isExpired(one: T): boolean {
    return this.#getRemainingMs(one) <= 0
  }

  #getRemainingMs(one: T): number {
    const { idleSince, idleMs, busyMs = 1000 } = this.#options
    const since = idleSince(one)
    return since === undefined ? Math.min(idleMs(), busyMs) : since + idleMs() - this.#timer.now()
  }

  /** Ends now what has been idle for too long; whether anything is left. */
  sweep(): boolean {
    const left: number[] = []
    for (const one of [...this.#options.list()]) {
      const ms = this.#getRemainingMs(one)
      if (ms > 0) left.push(ms)
      else this.#options.close(one)
    }
    this.#nextMs = left.reduce((least, ms) => Math.min(least, ms), Infinity)
    return left.length > 0
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
 * Milliseconds since 1970, for times that other processes read as well. Counted on from the start of the process, so a
 * system clock that is set meanwhile moves nothing.
 */
export function getSteadyTime(): number {
  return performance.timeOrigin + performance.now()
}

/** Counts the time; every `Clock` does. */
interface Timer {
  after(ms: number, callback: () => void): () => void
}

/** Waits for something, but no longer than this. True when it came in time; what it came to does not matter. */
export function waitAtMost(timer: Timer, ms: number, done: Promise<unknown>): Promise<boolean> {
  return new Promise(resolve => {
    const takeBack = timer.after(ms, () => resolve(false))
    const inTime = (): void => {
      takeBack()
      resolve(true)
    }
    done.then(inTime, inTime)
  })
}
