import { gatewayError, GatewayError } from '../errors/errors.ts'

/** Who tapped where, for the error that names them. */
export interface TapOrigin {
  readonly plugin: string
  readonly hook: string
}

/** How long a promise of a tap is waited for. */
export interface Patience {
  readonly clock: { now(): number; after(ms: number, callback: () => void): () => void }
  readonly ms: number
}

type Anything = (...args: never[]) => unknown
type Callback = (error: Error | null, value?: unknown) => void

/** A tap of a synchronous hook that names its plugin when it throws, and refuses a promise. */
export function guardSync(
  tap: Anything,
  origin: TapOrigin,
): (a: unknown, b?: unknown, c?: unknown) => unknown {
  const call = tap as (a: unknown, b?: unknown, c?: unknown) => unknown
  return (a, b, c) => {
    let value: unknown
    try {
      value = call(a, b, c)
    } catch (error) {
      throw failed(origin, error)
    }
    if (!isThenable(value)) return value ?? undefined
    value.then(undefined, () => undefined)
    throw failed(origin, new TypeError(`hook "${origin.hook}" is synchronous and cannot wait for a promise`))
  }
}

/**
 * A tap of an asynchronous hook in callback form: tapable waits for ever when a promise tap throws synchronously
 * or returns something that is no promise. `decided` hears which tap returned a value or threw.
 */
export function guardAsync(
  tap: Anything,
  origin: TapOrigin,
  parameters: number,
  decided: (first: unknown, plugin: string) => void = nobodyAsks,
  patience?: Patience,
): (...args: unknown[]) => void {
  const call = tap as (a: unknown, b?: unknown) => unknown
  const settle = (first: unknown, done: Callback, value: unknown): void => {
    if (value !== undefined && value !== null) decided(first, origin.plugin)
    done(null, value ?? undefined)
  }
  const fail = (first: unknown, done: Callback, error: unknown): void => {
    decided(first, origin.plugin)
    done(failed(origin, error))
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
      inTime(value, origin, patience).then(
        settled => settle(a, done, settled),
        (error: unknown) => fail(a, done, error),
      )
    else settle(a, done, value)
  }
  return parameters === 1
    ? (a, done) => run(a, undefined, done as Callback)
    : (a, b, done) => run(a, b, done as Callback)
}

function nobodyAsks(): void {}

/** What a promise comes to, or that it came to nothing in time; what it comes to later, nobody hears. */
export function inTime(
  value: PromiseLike<unknown>,
  origin: TapOrigin,
  patience: Patience | undefined,
): PromiseLike<unknown> {
  if (patience === undefined) return value
  const { clock, ms } = patience
  return new Promise((resolve, reject) => {
    const takeBack = clock.after(ms, () => reject(gatewayError('GW_PLUGIN_TIMEOUT', { ...origin, ms })))
    value.then(
      settled => {
        takeBack()
        resolve(settled)
      },
      () => {
        takeBack()
        // Rejects as the tap did.
        resolve(value)
      },
    )
  })
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return (
    typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
  )
}

function failed(origin: TapOrigin, cause: unknown): GatewayError {
  // What a tap throws on purpose keeps its own code; anything else is the plugin's bug.
  return cause instanceof GatewayError ? cause : gatewayError('GW_PLUGIN_FAILED', { ...origin, cause })
}
