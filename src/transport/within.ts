import type { Clock } from '../core/ports.ts'

/** Waits for something, but no longer than this. True when it came in time; what it came to does not matter. */
export function within(clock: Clock, ms: number, done: Promise<unknown>): Promise<boolean> {
  return new Promise(resolve => {
    const takeBack = clock.after(ms, () => resolve(false))
    const inTime = (): void => {
      takeBack()
      resolve(true)
    }
    done.then(inTime, inTime)
  })
}
