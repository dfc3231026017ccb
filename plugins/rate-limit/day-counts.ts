import { type Clock, getErrorMessage, type Log } from '../../src/plugin.ts'

export const DAY_MS = 86_400_000

/** Formats a day in UTC, such as `2026-11-23`. */
export function formatDay(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}

export function getMsUntilTomorrow(now: number): number {
  return DAY_MS - (now % DAY_MS)
}

/** Minimum time between attempts while counting fails. */
const RETRY_MS = 1000
/** How long reserved calls stay with this process. */
const RETURN_MS = 1000

/** Database of day counts; its methods throw if the disk is full or unavailable. */
interface DayStore {
  hasCapacity(rule: string, key: string, max: number, now: number): boolean
  countCall(rule: string, key: string, max: number, now: number): boolean
  returnReserved(): void
  close(): void
}

interface DayCountsDeps {
  readonly open: (directory: string) => DayStore
  readonly directory: string
  readonly clock: Clock
  readonly log: Log
}

/** Day counts on a disk that may be full or unavailable: then results are undefined, and the reason is logged. */
export class DayCounts {
  readonly #options: DayCountsDeps
  #quotas: DayStore | undefined = undefined
  #failedAt: number | undefined = undefined
  #stopTimer: (() => void) | undefined = undefined

  constructor(options: DayCountsDeps) {
    this.#options = options
  }

  hasCapacity(rule: string, key: string, max: number): boolean | undefined {
    return this.#attempt(quotas => quotas.hasCapacity(rule, key, max, Date.now()))
  }

  /** Counts a call; false if another process took the last one. */
  countCall(rule: string, key: string, max: number): boolean | undefined {
    this.#stopTimer ??= this.#options.clock.after(RETURN_MS, () => this.#returnReserved())
    return this.#attempt(quotas => quotas.countCall(rule, key, max, Date.now()))
  }

  close(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    this.#quotas?.close()
    this.#quotas = undefined
  }

  #returnReserved(): void {
    this.#stopTimer = undefined
    if (this.#quotas !== undefined) this.#attempt(quotas => (quotas.returnReserved(), true))
  }

  #attempt(count: (quotas: DayStore) => boolean): boolean | undefined {
    const { open, directory, clock } = this.#options
    if (this.#failedAt !== undefined && clock.now() - this.#failedAt < RETRY_MS) return undefined
    try {
      const result = count((this.#quotas ??= open(directory)))
      this.#handleSuccess()
      return result
    } catch (error) {
      this.#handleFailure(error)
      return undefined
    }
  }

  #handleSuccess(): void {
    if (this.#failedAt !== undefined) this.#options.log.warn('daily quotas are available again')
    this.#failedAt = undefined
  }

  #handleFailure(error: unknown): void {
    const { clock, log, directory } = this.#options
    if (this.#failedAt === undefined)
      log.error('daily quotas are unavailable', { reason: getErrorMessage(error), directory })
    this.#failedAt = clock.now()
    try {
      this.close()
    } catch {
      // Drop a store that cannot be closed; the next attempt opens it again.
      this.#quotas = undefined
    }
  }
}
