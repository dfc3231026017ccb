import type { Pending } from '../transport.ts'

/** How long calls are kept back at a time so that those under way can end, and how long it then takes until the next time, in ticks. */
const OPEN = 5
const PAUSE = 20

/**
 * The time in which no other call starts, so that one that asks comes to be alone. Whoever is still under way at its end
 * is slow: nobody waits for a slow call, so the next window opens only when all such calls have ended.
 */
export class DrainWindow {
  #since: number | undefined
  #underWay: readonly Pending[] = []

  /** Whether calls are kept back now, while one waits to be alone. */
  isOpen(ticks: number, sent: () => Pending[]): boolean {
    if (this.#since === undefined) return this.#begin(ticks, sent)
    const age = ticks - this.#since
    if (age < OPEN) return true
    return age >= OPEN + PAUSE && !this.#underWay.some(({ open }) => open) && this.#begin(ticks, sent)
  }

  /** The one that waited has come to be alone. */
  reset(): void {
    this.#since = undefined
    this.#underWay = []
  }

  #begin(ticks: number, sent: () => Pending[]): true {
    this.#since = ticks
    this.#underWay = sent()
    return true
  }
}
