import type { Clock } from '../../../src/plugin.ts'

const MOST_AT_A_TIME = 256
const FAILURES = 3
const SHUT_MS = 1000

/** Lets few questions through at a time, and none for a second to a store that was late or away three times in a row. */
export class Gate {
  readonly #clock: Pick<Clock, 'now'>
  #underWay = 0
  #failures = 0
  #shutUntil: number | undefined

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock
  }

  get isShut(): boolean {
    return this.#shutUntil !== undefined
  }

  /** True once a second while it is shut: time for a question that nobody waits for. */
  get isDue(): boolean {
    const now = this.#clock.now()
    if (this.#shutUntil === undefined || now < this.#shutUntil) return false
    this.#shutUntil = now + SHUT_MS
    return true
  }

  /** False where a question would have to wait. Each that goes through is told how it ended. */
  enter(): boolean {
    if (this.isShut || this.#underWay >= MOST_AT_A_TIME) return false
    this.#underWay++
    return true
  }

  answered(): void {
    this.#underWay--
    this.open()
  }

  failed(): void {
    this.#underWay--
    this.#failures++
    if (this.#failures >= FAILURES) this.#shutUntil = this.#clock.now() + SHUT_MS
  }

  open(): void {
    this.#failures = 0
    this.#shutUntil = undefined
  }
}

/** The answer, where it comes in time; what comes later counts for nothing. */
export function within<T>(ms: number, clock: Pick<Clock, 'after'>, answer: Promise<T>): Promise<T> {
  let forget = (): void => undefined
  const late = new Promise<never>((_, reject) => {
    forget = clock.after(ms, () => reject(new Error(`no answer in ${ms} ms`)))
  })
  answer.catch(() => undefined)
  return Promise.race([answer, late]).finally(() => forget())
}
