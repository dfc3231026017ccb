import { listAt, mapAt, pointerTo, type Report, valueAt } from '../../src/plugin.ts'

/** A caller needs a name, and a request one who puts credentials on it. */
export function check(config: unknown, report: Report): void {
  const upstreams = mapAt(config, 'upstreams')
  for (const name of Object.keys(upstreams)) {
    if (listAt(upstreams, name, 'callers').length === 0) continue
    const pointer = `${pointerTo('/upstreams', name)}/callers`
    if (valueAt(upstreams, name, 'oauth') !== undefined)
      report({
        pointer,
        on: 'key',
        message: '"oauth" says already what the requests of a caller carry',
        hint: 'take one of them out',
      })
    else if (valueAt(config, 'auth') === undefined && Object.keys(mapAt(config, 'plugins')).length === 0)
      report({ pointer, on: 'key', message: 'without "auth" nobody knows who a caller is', hint: 'add auth' })
  }
}
