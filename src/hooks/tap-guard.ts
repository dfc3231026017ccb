import { gatewayError, GatewayError } from '../errors/errors.ts'
import type { Authorizer, Call, Dispatch, Upstream, UpstreamConfig, UpstreamContext } from '../api/index.ts'
import { parseDuration } from '../util/units.ts'

/** Fraction of the upstream timeout, so that the plugin's timeout is reported first. */
const TIMEOUT_SHARE = 0.9

/** Plugin and hook of a tap, for error messages. */
export interface TapOrigin {
  readonly plugin: string
  readonly hook: string
  /** Receives errors that are not the plugin's answer. */
  readonly onFailure?: (origin: TapOrigin, cause: unknown) => void
}

/** Timeout of a tap's promise, in milliseconds, and its clock. */
export interface TapTimeout {
  readonly clock: { now(): number; after(ms: number, callback: () => void): () => void }
  readonly ms: number
}

type AnyTap = (...args: never[]) => unknown

type Callback = (error: Error | null, value?: unknown) => void

/** Wraps a synchronous tap: errors name the plugin, promises are refused. */
export function guardSync(tap: AnyTap, origin: TapOrigin): (a: unknown, b?: unknown, c?: unknown) => unknown {
  const call = tap as (a: unknown, b?: unknown, c?: unknown) => unknown
  return (a, b, c) => {
    let value: unknown
    try {
      value = call(a, b, c)
    } catch (error) {
      throw toTapError(origin, error)
    }
    if (!isThenable(value)) return value ?? undefined
    value.then(undefined, () => undefined)
    throw toTapError(origin, new TypeError(`hook "${origin.hook}" is synchronous and cannot wait for a promise`))
  }
}

/**
 * Wraps an asynchronous tap in callback form, as tapable never settles if it throws synchronously or returns no
 * promise. `decided` is called with the tap that returned a value or threw.
 */
export function guardAsync(
  tap: AnyTap,
  origin: TapOrigin,
  parameters: number,
  decided: (first: unknown, plugin: string) => void = ignoreDecision,
  patience?: TapTimeout,
): (...args: unknown[]) => void {
  const call = tap as (a: unknown, b?: unknown) => unknown
  const settle = (first: unknown, done: Callback, value: unknown): void => {
    if (value !== undefined && value !== null) decided(first, origin.plugin)
    done(null, value ?? undefined)
  }
  const fail = (first: unknown, done: Callback, error: unknown): void => {
    decided(first, origin.plugin)
    done(toTapError(origin, error))
  }
  // Fixed arities: rest arguments cost twice as much in the pipeline.
  const run = (a: unknown, b: unknown, done: Callback): void => {
    let value: unknown
    try {
      value = call(a, b)
    } catch (error) {
      return fail(a, done, error)
    }
    if (isThenable(value))
      withTimeout(value, origin, patience).then(
        settled => settle(a, done, settled),
        (error: unknown) => fail(a, done, error),
      )
    else settle(a, done, value)
  }
  return parameters === 1
    ? (a, done) => run(a, undefined, done as Callback)
    : (a, b, done) => run(a, b, done as Callback)
}

function ignoreDecision(): void {}

/** Settles with the tap's promise, or rejects after the timeout. */
export function withTimeout(
  value: PromiseLike<unknown>,
  origin: TapOrigin,
  patience: TapTimeout | undefined,
): PromiseLike<unknown> {
  if (patience === undefined) return value
  const { clock, ms } = patience
  return new Promise((resolve, reject) => {
    const { plugin, hook } = origin
    const takeBack = clock.after(ms, () => reject(gatewayError('GW_PLUGIN_TIMEOUT', { plugin, hook, ms })))
    value.then(
      settled => {
        takeBack()
        resolve(settled)
      },
      () => {
        takeBack()
        // Rejects if the tap did.
        resolve(value)
      },
    )
  })
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

/** Converts an error of a tap. */
export function toTapError(origin: TapOrigin, cause: unknown): GatewayError {
  const { plugin, hook, onFailure } = origin
  // Gateway errors keep their code; other errors are bugs in the plugin.
  const isAnswer = cause instanceof GatewayError
  if (!isAnswer || cause.code === 'GW_PLUGIN_TIMEOUT') onFailure?.(origin, cause)
  return isAnswer ? cause : gatewayError('GW_PLUGIN_FAILED', { plugin, hook, cause })
}

type DispatchTap = (next: Dispatch, upstream: Upstream) => unknown

/**
 * Limits a plugin's own time for a call to most of the upstream timeout, and to at most `mostMs`. Time in the
 * upstream, inner plugins and the client does not count.
 */
export function guardDispatch(
  wrap: DispatchTap,
  origin: TapOrigin,
  { clock }: TapTimeout,
  mostMs: number,
): DispatchTap {
  return (next, upstream) => {
    const watches = new WeakMap<object, TapStopwatch>()
    const wrapped = wrap(pauseStopwatch(next, watches), upstream)
    if (typeof wrapped !== 'function') return wrapped
    const dispatch = wrapped as Dispatch
    const ms = Math.min(TIMEOUT_SHARE * getTimeout(upstream) || mostMs, mostMs)
    return (call: Call) =>
      new Promise((resolve, reject) => {
        const expired = (): void => {
          const error = gatewayError('GW_PLUGIN_TIMEOUT', { ...origin, ms })
          reject(error)
          call.cancel(error.message)
        }
        const watch = new TapStopwatch(call, clock, ms, expired)
        watches.set(call.exchange, watch)
        // Settles with the plugin's promise, unless the time has expired.
        void callAsync(dispatch, call)
          .then(resolve, reject)
          .finally(() => watch.stop())
      })
  }
}

/** Measures a plugin's time for one call. */
class TapStopwatch {
  readonly #call: Call
  readonly #clock: TapTimeout['clock']
  readonly #ms: number
  readonly #expired: () => void
  /** Number of running calls to `next`. */
  #nextCalls = 0
  #since: number
  #stopTimer: () => void

  constructor(call: Call, clock: TapTimeout['clock'], ms: number, expired: () => void) {
    this.#call = call
    this.#clock = clock
    this.#ms = ms
    this.#expired = expired
    this.#since = clock.now()
    this.#stopTimer = clock.after(ms, () => this.#checkTime())
  }

  pause(): void {
    this.#nextCalls++
  }

  resume(): void {
    this.#nextCalls--
    this.#since = this.#clock.now()
  }

  stop(): void {
    this.#stopTimer()
  }

  #checkTime(): void {
    const isPaused = this.#nextCalls > 0 || this.#call.exchange.openAsks > 0
    if (isPaused) this.#since = this.#clock.now()
    const remainingMs = this.#since + this.#ms - this.#clock.now()
    if (remainingMs > 0) this.#stopTimer = this.#clock.after(remainingMs, () => this.#checkTime())
    else this.#expired()
  }
}

/** Wraps `next` to pause the stopwatch while it runs. */
function pauseStopwatch(next: Dispatch, watches: WeakMap<object, TapStopwatch>): Dispatch {
  return call => {
    const watch = watches.get(call.exchange)
    if (watch === undefined) return next(call)
    watch.pause()
    return next(call).finally(() => watch.resume())
  }
}

async function callAsync(dispatch: Dispatch, call: Call): ReturnType<Dispatch> {
  return dispatch(call)
}

/** Upstreams of plugins may have no timeout. */
function getTimeout({ spec }: Upstream): number {
  const { timeout } = spec as { readonly timeout?: string | number }
  return timeout === undefined ? 0 : parseDuration(timeout)
}

type Authorize = (spec: UpstreamConfig, context: UpstreamContext) => Authorizer | undefined | void

/** Guards an authorizer of a plugin: its errors name the plugin, and hide its message from callers. */
export function guardAuthorizer(run: Authorize, origin: TapOrigin): Authorize {
  return (spec, context) => {
    const made = run(spec, context)
    return made === undefined || made === null ? undefined : guardMethods(made, origin)
  }
}

function guardMethods(authorizer: Authorizer, origin: TapOrigin): Authorizer {
  const fail = (error: unknown): never => {
    throw toTapError(origin, error)
  }
  const guard =
    <A extends unknown[], R>(run: (...args: A) => R) =>
    (...args: A): R => {
      try {
        return run(...args)
      } catch (error) {
        return fail(error)
      }
    }
  return {
    headers: guard(request => {
      const headers = authorizer.headers(request)
      return headers instanceof Promise ? headers.catch(fail) : headers
    }),
    refused: guard((request, refusal) => authorizer.refused(request, refusal).catch(fail)),
    ...(authorizer.query === undefined ? {} : { query: guard(account => authorizer.query?.(account) ?? {}) }),
    ...(authorizer.getAccount === undefined
      ? {}
      : { getAccount: guard(principal => authorizer.getAccount?.(principal) ?? '') }),
  }
}
