import { isKnown, listAt, mapAt, textAt, type Report } from '../../src/plugin.ts'
import { isLocalHost } from './listeners.ts'

/** Looks at the listeners that are to serve the page: it is for whoever may see everything. */
export function check(config: unknown, report: Report): void {
  const listeners = mapAt(config, 'listeners')
  const names = Object.keys(listeners).filter(name => textAt(listeners, name, 'type') === 'http')
  const auth = mapAt(config, 'auth')
  const hasAuth = 'auth' in mapAt(config)
  listAt(config, 'ui', 'listeners').forEach((name, i) => {
    const pointer = `/ui/listeners/${i}`
    isKnown(name, { what: 'HTTP listener', names }, pointer, report)
    if (typeof name !== 'string' || !names.includes(name)) return
    const covered = listAt(auth, 'listeners')
    const isCovered = hasAuth && (covered.length === 0 || covered.includes(name))
    if (isCovered || isLocalHost(textAt(listeners, name, 'host') ?? '127.0.0.1')) return
    const message = `"${name}" is open to the network, and the page is not served there`
    report({ pointer, message, hint: 'cover it with "auth", or bind it to 127.0.0.1' })
  })
}
