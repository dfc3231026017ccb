import type { Config } from '../../src/plugin.ts'

/** True for hosts that only this machine reaches. */
export function isLocalHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

/** Listeners whose callers `auth` asks who they are. */
export function coveredBy({ auth, listeners }: Pick<Config, 'auth' | 'listeners'>): readonly string[] {
  if (auth === undefined) return []
  return auth.listeners ?? Object.keys(listeners).filter(name => listeners[name]?.type === 'http')
}

/** Listeners that serve the page: those of this machine, and those that `auth` covers. */
export function servedBy({
  auth,
  listeners,
  ui,
}: Pick<Config, 'auth' | 'listeners' | 'ui'>): ReadonlySet<string> {
  const covered = coveredBy({ auth, listeners })
  const served = Object.entries(listeners).filter(
    ([name, spec]) =>
      spec.type === 'http' &&
      (ui?.listeners?.includes(name) ?? true) &&
      (covered.includes(name) || isLocalHost(spec.host)),
  )
  return new Set(served.map(([name]) => name))
}
