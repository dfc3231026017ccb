import type { Config, Report } from '../../src/plugin.ts'
import { checkKnownName, readList, readMap, readText } from '../../src/plugin.ts'

/** Reports public listeners without authentication, which must not serve the page. */
export function checkUiListeners(config: unknown, report: Report): void {
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
    const message = `"${name}" is public and not authenticated, so it does not serve the dashboard`
    report({ pointer, message, hint: 'protect it with "auth", or bind it to 127.0.0.1' })
  })
}

/** True for loopback hosts. */
function isLocalHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}

/** Listeners with authentication. */
export function listAuthListeners({ auth, listeners }: Config): readonly string[] {
  if (auth === undefined) return []
  return auth.listeners ?? Object.keys(listeners).filter(name => listeners[name]?.type === 'http')
}

/** Listeners that serve the page: local ones, and those with authentication. */
export function listPageListeners(config: Config): ReadonlySet<string> {
  const { listeners, ui } = config
  const covered = listAuthListeners(config)
  const served = Object.entries(listeners).filter(
    ([name, spec]) =>
      spec.type === 'http' &&
      (ui?.listeners?.includes(name) ?? true) &&
      (covered.includes(name) || isLocalHost(spec.host)),
  )
  return new Set(served.map(([name]) => name))
}
