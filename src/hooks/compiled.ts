type Compiled = (...args: never[]) => unknown

/** Options that tapable hands its compiler, as far as the compiled code depends on them. */
interface CompileOptions {
  readonly taps: readonly { readonly type: string; readonly fn: Compiled }[]
  readonly args: readonly string[]
  readonly type: string
}

/** A hook of tapable: what it compiles finds the functions of its taps in `_x`. */
export interface Compiling {
  compile(options: CompileOptions): Compiled
  _x?: readonly Compiled[]
}

/** Compiled functions by hook and form, so no more of them than there are taps. */
const known = new Map<string, Compiled>()

/** Lets a hook take the code that an earlier one of its name and form was compiled to: a reload changes functions, not code. */
export function compileOnce(hook: Compiling, name: string): void {
  const { compile } = hook
  hook.compile = options => {
    const { taps, args, type } = options
    const key = [name, type, ...args, ...taps.map(tap => tap.type)].join()
    const shared = known.get(key)
    if (shared !== undefined) {
      hook._x = taps.map(({ fn }) => fn)
      return shared
    }
    const made = compile.call(hook, options)
    known.set(key, made)
    return made
  }
}

type Done = (error: Error | null | undefined, value?: unknown) => void

/** An asynchronous hook as tapable compiles it. */
interface Callable {
  callAsync(...args: unknown[]): void
}

/** Runs an asynchronous hook. What its taps answer at once is returned, or thrown, at once: a promise costs a turn. */
export function promptly(hook: Callable, parameters: number): (a: unknown, b?: unknown) => unknown {
  return (a, b) => {
    const outcome = new Outcome()
    if (parameters === 1) hook.callAsync(a, outcome.done)
    else hook.callAsync(a, b, outcome.done)
    return outcome.taken()
  }
}

/** Outcome of one run: there already, or still to come. */
class Outcome {
  #isThere = false
  #error: Error | null | undefined
  #value: unknown
  #later: Done | undefined

  readonly done: Done = (error, value) => {
    this.#isThere = true
    this.#error = error
    this.#value = value
    this.#later?.(error, value)
  }

  taken(): unknown {
    if (!this.#isThere)
      return new Promise((resolve, reject) => {
        this.#later = (error, value) => (error ? reject(error) : resolve(value))
      })
    if (this.#error) throw this.#error
    return this.#value
  }
}
