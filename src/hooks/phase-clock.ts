import type { Clock } from '../api/index.ts'
import type { Phase, PhaseTimes } from '../api/times.ts'

/** A phase that is under way. */
interface Stay {
  readonly phase: Phase
}

/** Counts for one exchange how long it is in each phase: what is innermost has the time. */
export class PhaseClock {
  readonly #clock: Clock
  readonly #open: Stay[] = []
  readonly #times: Record<Phase, number> = {
    before: 0,
    policy: 0,
    cache: 0,
    queue: 0,
    upstream: 0,
    client: 0,
    other: 0,
    after: 0,
  }
  #since: number
  #tries = 0
  #isDispatched = false

  constructor(clock: Clock, startedAt: number) {
    this.#clock = clock
    this.#since = startedAt
  }

  /** From now on the time is that of this phase, until it is left. */
  enter(phase: Phase): Stay {
    this.#count()
    const stay = { phase }
    this.#open.push(stay)
    if (phase === 'upstream') this.#tries++
    return stay
  }

  /** Ends a phase, and what was begun within it and given up. */
  leave(stay: Stay): void {
    const place = this.#open.lastIndexOf(stay)
    if (place < 0) return
    this.#count()
    // The client may be asked several things side by side.
    if (stay.phase === 'client') this.#open.splice(place, 1)
    else this.#open.length = place
  }

  /** Notes that the exchange leaves for a server: what belongs to nobody comes after that. */
  dispatched(): void {
    this.#count()
    this.#isDispatched = true
  }

  get times(): PhaseTimes {
    this.#count()
    return { ...this.#times, tries: this.#tries, isDispatched: this.#isDispatched }
  }

  #count(): void {
    const now = this.#clock.now()
    const phase = this.#open.at(-1)?.phase ?? (this.#isDispatched ? 'after' : 'before')
    this.#times[phase] += now - this.#since
    this.#since = now
  }
}
