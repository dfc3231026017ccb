import type { Call, Dispatch, Upstream } from '../api/index.ts'
import { gatewayError } from '../errors/errors.ts'
import { parseDuration } from '../util/units.ts'
import type { Patience, TapOrigin } from './guard.ts'

/** The part of an upstream's timeout that a plugin has: less than all, so that it is named before the upstream is. */
const PART = 0.9

type Wrap = (next: Dispatch, upstream: Upstream) => unknown

/**
 * Bounds what a plugin itself takes for a call: nearly as long as calls of that upstream may last, and `mostMs` at most. While the
 * upstream, a plugin behind this one or the client has the call, nothing is counted.
 */
export function guardDispatch(wrap: Wrap, origin: TapOrigin, { clock }: Patience, mostMs: number): Wrap {
  return (next, upstream) => {
    const watches = new WeakMap<object, Watch>()
    const wrapped = wrap(watched(next, watches), upstream)
    if (typeof wrapped !== 'function') return wrapped
    const dispatch = wrapped as Dispatch
    const ms = Math.min(PART * timeoutOf(upstream) || mostMs, mostMs)
    return (call: Call) =>
      new Promise((resolve, reject) => {
        const expired = (): void => {
          const error = gatewayError('GW_PLUGIN_TIMEOUT', { ...origin, ms })
          reject(error)
          call.cancel(error.message)
        }
        const watch = new Watch(call, clock, ms, expired)
        watches.set(call.exchange, watch)
        // Settles as the plugin does, unless it has expired.
        void settled(dispatch, call)
          .then(resolve, reject)
          .finally(() => watch.end())
      })
  }
}

/** Time that a plugin takes for one call. */
class Watch {
  readonly #call: Call
  readonly #clock: Patience['clock']
  readonly #ms: number
  readonly #expired: () => void
  /** How often it is with the upstream. */
  #away = 0
  #since: number
  #stopTimer: () => void

  constructor(call: Call, clock: Patience['clock'], ms: number, expired: () => void) {
    this.#call = call
    this.#clock = clock
    this.#ms = ms
    this.#expired = expired
    this.#since = clock.now()
    this.#stopTimer = clock.after(ms, () => this.#look())
  }

  goes(): void {
    this.#away++
  }

  comesBack(): void {
    this.#away--
    this.#since = this.#clock.now()
  }

  end(): void {
    this.#stopTimer()
  }

  #look(): void {
    const isWithOthers = this.#away > 0 || this.#call.exchange.asking > 0
    if (isWithOthers) this.#since = this.#clock.now()
    const left = this.#since + this.#ms - this.#clock.now()
    if (left > 0) this.#stopTimer = this.#clock.after(left, () => this.#look())
    else this.#expired()
  }
}

/** The way on, which tells the watch of a call when it begins and ends. */
function watched(next: Dispatch, watches: WeakMap<object, Watch>): Dispatch {
  return call => {
    const watch = watches.get(call.exchange)
    if (watch === undefined) return next(call)
    watch.goes()
    return next(call).finally(() => watch.comesBack())
  }
}

async function settled(dispatch: Dispatch, call: Call): ReturnType<Dispatch> {
  return dispatch(call)
}

/** Upstreams of plugins may say nothing of it. */
function timeoutOf({ spec }: Upstream): number {
  const { timeout } = spec as { readonly timeout?: string | number }
  return timeout === undefined ? 0 : parseDuration(timeout)
}
