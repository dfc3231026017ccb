import type { Call, Clock, Dispatch, Exchange, Upstream } from '../api/index.ts'
import type { CallPhase, PhaseTimes } from '../api/exchange.ts'

export interface ActivePhase {
  readonly phase: CallPhase
}

/** Measures the time of an exchange in each phase; the innermost phase counts. */
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

  startPhase(phase: CallPhase): ActivePhase {
    this.#count()
    const activePhase = { phase }
    this.#open.push(activePhase)
    if (phase === 'upstream') this.#tries++
    return activePhase
  }

  /** Ends a phase, and all phases started within it. */
  endPhase(activePhase: ActivePhase): void {
    const index = this.#open.lastIndexOf(activePhase)
    if (index < 0) return
    this.#count()
    // Several client requests may run concurrently.
    if (activePhase.phase === 'client') this.#open.splice(index, 1)
    else this.#open.length = index
  }

  /** Marks the dispatch: time without a phase counts as `after` from here on. */
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

/** An exchange with a phase clock, if a tap reads the times. */
type TimedExchange = Exchange & {
  readonly phases?:
    { startPhase(phase: CallPhase): object; endPhase(activePhase: object): void; markDispatched(): void } | undefined
}

type DispatchTap = (next: Dispatch, upstream: Upstream) => unknown

/** Counts a dispatch function's time as one phase. */
export function timeDispatch(dispatch: Dispatch, phase: CallPhase): Dispatch {
  return call => runInPhase(call.exchange, phase, () => dispatch(call))
}

/** Counts the dispatch function of a tap as one phase. */
export function timeDispatchTap(wrap: DispatchTap, phase: CallPhase): DispatchTap {
  return (next, upstream) => {
    const wrapped = wrap(next, upstream)
    return typeof wrapped === 'function' && wrapped !== next ? timeDispatch(wrapped as Dispatch, phase) : wrapped
  }
}

/** Counts a `request` tap as one phase. */
export function timeRequestTap(run: (exchange: Exchange) => unknown, phase: CallPhase): typeof run {
  return exchange => runInPhase(exchange, phase, () => run(exchange))
}

/** Marks calls as dispatched. */
export function markWhenDispatched(dispatch: Dispatch): Dispatch {
  return (call: Call) => {
    ;(call.exchange as TimedExchange).phases?.markDispatched()
    return dispatch(call)
  }
}

function runInPhase<T>(exchange: Exchange, phase: CallPhase, run: () => T): T {
  const { phases } = exchange as TimedExchange
  if (phases === undefined) return run()
  const activePhase = phases.startPhase(phase)
  const leave = (): void => phases.endPhase(activePhase)
  try {
    const made = run()
    // Registered before the caller's handlers, so that their time does not count.
    if (made instanceof Promise) made.then(leave, leave)
    else leave()
    return made
  } catch (error) {
    leave()
    throw error
  }
}
