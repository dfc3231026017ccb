import type { Call, Clock, Dispatch, Exchange, Upstream } from '../api/index.ts'
import type { Phase, PhaseTimes } from '../api/exchange.ts'

/** A phase that is under way. */
export interface ActivePhase {
  readonly phase: Phase
}

/** Counts for one exchange how long it is in each phase: what is innermost has the time. */
export class PhaseClock {
  readonly #clock: Clock
  readonly #open: ActivePhase[] = []
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
  enter(phase: Phase): ActivePhase {
    this.#count()
    const stay = { phase }
    this.#open.push(stay)
    if (phase === 'upstream') this.#tries++
    return stay
  }

  /** Ends a phase, and what was begun within it and given up. */
  leave(stay: ActivePhase): void {
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

/** An exchange that may have a clock of its phases: only where somebody reads it. */
type Timed = Exchange & {
  readonly phases?: { enter(phase: Phase): object; leave(stay: object): void; dispatched(): void } | undefined
}

type Wrap = (next: Dispatch, upstream: Upstream) => unknown

/** Counts the time of calls as one phase, where their exchange has a clock. */
export function phased(dispatch: Dispatch, phase: Phase): Dispatch {
  return call => inPhase(call.exchange, phase, () => dispatch(call))
}

/** The same for all that a tap of `dispatch` wraps. */
export function phasedWrap(wrap: Wrap, phase: Phase): Wrap {
  return (next, upstream) => {
    const wrapped = wrap(next, upstream)
    return typeof wrapped === 'function' && wrapped !== next ? phased(wrapped as Dispatch, phase) : wrapped
  }
}

/** The same for a tap of `request`. */
export function phasedRequest(run: (exchange: Exchange) => unknown, phase: Phase): typeof run {
  return exchange => inPhase(exchange, phase, () => run(exchange))
}

/** Notes when calls leave for their server. */
export function noted(dispatch: Dispatch): Dispatch {
  return (call: Call) => {
    ;(call.exchange as Timed).phases?.dispatched()
    return dispatch(call)
  }
}

function inPhase<T>(exchange: Exchange, phase: Phase, run: () => T): T {
  const { phases } = exchange as Timed
  if (phases === undefined) return run()
  const stay = phases.enter(phase)
  const leave = (): void => phases.leave(stay)
  try {
    const made = run()
    // Ahead of whoever waits for it, so that their time is theirs.
    if (made instanceof Promise) made.then(leave, leave)
    else leave()
    return made
  } catch (error) {
    leave()
    throw error
  }
}
