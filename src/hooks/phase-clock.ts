import type { Call, Clock, Dispatch, Exchange, Upstream } from '../api/index.ts'
import type { CallPhase, PhaseTimes } from '../api/exchange.ts'

/** A phase that is under way. */
export interface ActivePhase {
  readonly phase: CallPhase
}

/** Counts for one exchange how long it is in each phase: what is innermost has the time. */
export class PhaseClock {
  readonly #clock: Clock
  readonly #open: ActivePhase[] = []
  readonly #times: Record<CallPhase, number> = {
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
  startPhase(phase: CallPhase): ActivePhase {
    this.#count()
    const stay = { phase }
    this.#open.push(stay)
    if (phase === 'upstream') this.#tries++
    return stay
  }

  /** Ends a phase, and what was begun within it and given up. */
  endPhase(stay: ActivePhase): void {
    const place = this.#open.lastIndexOf(stay)
    if (place < 0) return
    this.#count()
    // The client may be asked several things side by side.
    if (stay.phase === 'client') this.#open.splice(place, 1)
    else this.#open.length = place
  }

  /** Notes that the exchange leaves for a server: what belongs to nobody comes after that. */
  markDispatched(): void {
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
type TimedExchange = Exchange & {
  readonly phases?:
    { startPhase(phase: CallPhase): object; endPhase(stay: object): void; markDispatched(): void } | undefined
}

type DispatchTap = (next: Dispatch, upstream: Upstream) => unknown

/** Counts the time of calls as one phase, where their exchange has a clock. */
export function timeDispatch(dispatch: Dispatch, phase: CallPhase): Dispatch {
  return call => runInPhase(call.exchange, phase, () => dispatch(call))
}

/** The same for all that a tap of `dispatch` wraps. */
export function timeDispatchTap(wrap: DispatchTap, phase: CallPhase): DispatchTap {
  return (next, upstream) => {
    const wrapped = wrap(next, upstream)
    return typeof wrapped === 'function' && wrapped !== next
      ? timeDispatch(wrapped as Dispatch, phase)
      : wrapped
  }
}

/** The same for a tap of `request`. */
export function timeRequestTap(run: (exchange: Exchange) => unknown, phase: CallPhase): typeof run {
  return exchange => runInPhase(exchange, phase, () => run(exchange))
}

/** Notes when calls leave for their server. */
export function markWhenDispatched(dispatch: Dispatch): Dispatch {
  return (call: Call) => {
    ;(call.exchange as TimedExchange).phases?.markDispatched()
    return dispatch(call)
  }
}

function runInPhase<T>(exchange: Exchange, phase: CallPhase, run: () => T): T {
  const { phases } = exchange as TimedExchange
  if (phases === undefined) return run()
  const stay = phases.startPhase(phase)
  const leave = (): void => phases.endPhase(stay)
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
