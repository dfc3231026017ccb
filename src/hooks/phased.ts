import type { Call, Dispatch, Exchange, Upstream } from '../api/index.ts'
import type { Phase } from '../api/times.ts'

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
