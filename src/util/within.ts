/** What counts the time; every `Clock` does. */
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
