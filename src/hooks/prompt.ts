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

/** What came of one run: there already, or still to come. */
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
