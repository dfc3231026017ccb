/** Real time: monotonic milliseconds, and timers that never keep the process alive. */
export const systemClock = Object.freeze({
  now: (): number => performance.now(),
  after(ms: number, callback: () => void): () => void {
    const timer = setTimeout(callback, ms).unref()
    return () => clearTimeout(timer)
  },
})
