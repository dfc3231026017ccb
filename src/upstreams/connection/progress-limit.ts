import type { Clock } from '../../api/index.ts'
import type { JsonObject } from '../../protocol/json/json.ts'

/** Progress of one call that is passed on within any second. */
const MAX = 20
const WITHIN_MS = 1000

/** Bounds the progress of one call. What is too much is held back; the newest of it is passed on as soon as may be. */
export class ProgressLimit {
  readonly #clock: Clock
  readonly #pass: (params: JsonObject) => void
  readonly #dropped: () => void
  /** When the last ones were passed on, as a ring. */
  readonly #times: number[] = []
  #next = 0
  #held: JsonObject | undefined
  #stopTimer: (() => void) | undefined

  /** `dropped` is called for each one that a newer one replaces. */
  constructor(clock: Clock, pass: (params: JsonObject) => void, dropped: () => void) {
    this.#clock = clock
    this.#pass = pass
    this.#dropped = dropped
  }

  add(params: JsonObject): void {
    if (this.#held !== undefined) this.#dropped()
    const wait = (this.#times[this.#next] ?? -Infinity) + WITHIN_MS - this.#clock.now()
    this.#held = params
    if (wait <= 0) this.flush()
    else this.#stopTimer ??= this.#clock.after(wait, () => this.flush())
  }

  /** Passes on what is held back, as the call ends or the time has come. */
  flush(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    const held = this.#held
    if (held === undefined) return
    this.#held = undefined
    this.#times[this.#next] = this.#clock.now()
    this.#next = (this.#next + 1) % MAX
    this.#pass(held)
  }
}
