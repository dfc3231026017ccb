type Compiled = (...args: never[]) => unknown

/** What tapable hands its compiler, as far as the code that comes of it depends on it. */
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
