/** Hooks that tell when a configuration takes over, and when it ends. */
interface ActivationHooks {
  readonly ready: { tap(run: () => void): void }
  readonly close: { tap(run: () => void): void }
}

/**
 * Follows which of the configurations that run is in force: `own` is what this one says, and `all`, which outlives each of them, holds
 * what they say. The function that it returns gives what the youngest says. One that could not take over is closed, and what was
 * said before it is in force again.
 */
export function createActiveGetter<T extends object>(
  { ready, close }: ActivationHooks,
  all: T[],
  own: T,
): () => T {
  ready.tap(() => void all.push(own))
  close.tap(() => {
    const at = all.indexOf(own)
    if (at >= 0) all.splice(at, 1)
  })
  return () => all.at(-1) ?? own
}
