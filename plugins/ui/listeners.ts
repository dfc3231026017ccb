import type { Config, Report } from '../../src/plugin.ts'
import { checkKnownName, readList, readMap, readText } from '../../src/plugin.ts'

/** Reports listeners that may not serve the page: it is for whoever may see everything. */
export function check(config: unknown, report: Report): void {
  const listeners = readMap(config, 'listeners')
  const names = Object.keys(listeners).filter(name => readText(listeners, name, 'type') === 'http')
  const auth = readMap(config, 'auth')
  const hasAuth = 'auth' in readMap(config)
  readList(config, 'ui', 'listeners').forEach((name, i) => {
    const pointer = `/ui/listeners/${i}`
    checkKnownName(name, { what: 'HTTP listener', names }, pointer, report)
    if (typeof name !== 'string' || !names.includes(name)) return
    const covered = readList(auth, 'listeners')
    const isCovered = hasAuth && (covered.length === 0 || covered.includes(name))
    if (isCovered || isLocalHost(readText(listeners, name, 'host') ?? '127.0.0.1')) return
    const message = `"${name}" is open to the network, and the page is not served there`
    report({ pointer, message, hint: 'cover it with "auth", or bind it to 127.0.0.1' })
  })
}

/** True for hosts that only this machine reaches. */
function isLocalHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

/** Listeners whose callers `auth` identifies. */
export function listenersWithAuth({ auth, listeners }: Config): readonly string[] {
  if (auth === undefined) return []
  return auth.listeners ?? Object.keys(listeners).filter(name => listeners[name]?.type === 'http')
}

/** Listeners that serve the page: those of this machine, and those that `auth` covers. */
export function listenersOfPage(config: Config): ReadonlySet<string> {
  const { listeners, ui } = config
  const covered = listenersWithAuth(config)
  const served = Object.entries(listeners).filter(
    ([name, spec]) =>
      spec.type === 'http' &&
      (ui?.listeners?.includes(name) ?? true) &&
      (covered.includes(name) || isLocalHost(spec.host)),
  )
  return new Set(served.map(([name]) => name))
}
