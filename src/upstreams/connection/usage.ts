import type { Clock } from '../../api/index.ts'

/** The calls that use one link, from the moment they have chosen it until they are answered. */
export class LinkUse {
  /** Milliseconds since 1970. */
  readonly startedAt = Date.now()
  inFlight = 0
  /** When the last call was answered; clock time. */
  endedAt: number
  readonly #clock: Clock
  #freed: (() => void)[] = []

  constructor(clock: Clock) {
    this.#clock = clock
    this.endedAt = clock.now()
  }

  hold(): void {
    this.inFlight++
  }

  letGo(): void {
    if (--this.inFlight > 0) return
    this.endedAt = this.#clock.now()
    if (this.#freed.length > 0) for (const resolve of this.#freed.splice(0)) resolve()
  }

  /** Resolves when no call uses the link any more. */
  free(): Promise<void> {
    return this.inFlight > 0 ? new Promise(resolve => this.#freed.push(resolve)) : Promise.resolve()
  }

  /** Since when nobody has used it; undefined while somebody does. */
  get idleSince(): number | undefined {
    return this.inFlight > 0 ? undefined : this.endedAt
  }
}
