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
export function steadyTime(): number {
  return performance.timeOrigin + performance.now()
}

/** Counts the time; every `Clock` does. */
interface Timer {
  after(ms: number, callback: () => void): () => void
}

/** Waits for something, but no longer than this. True when it came in time; what it came to does not matter. */
export function within(timer: Timer, ms: number, done: Promise<unknown>): Promise<boolean> {
  return new Promise(resolve => {
    const takeBack = timer.after(ms, () => resolve(false))
    const inTime = (): void => {
      takeBack()
      resolve(true)
    }
    done.then(inTime, inTime)
  })
}
