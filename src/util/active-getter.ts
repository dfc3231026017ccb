/** Hooks for the start and end of a configuration. */
interface ActivationHooks {
  readonly ready: { tap(run: () => void): void }
  readonly close: { tap(run: () => void): void }
}

/**
 * Tracks the active configuration: `own` is the value of this one, and `all`, which outlives each configuration,
 * holds the values of all. The returned function returns the newest value. If a configuration fails to activate, it
 * is closed and the previous value is active again.
 */
export function createActiveGetter<T extends object>({ ready, close }: ActivationHooks, all: T[], own: T): () => T {
  ready.tap(() => void all.push(own))
  close.tap(() => {
    const at = all.indexOf(own)
    if (at >= 0) all.splice(at, 1)
  })
  return () => all.at(-1) ?? own
}
