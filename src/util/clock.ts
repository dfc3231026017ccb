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
