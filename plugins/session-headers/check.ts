import { isKnown, isObject, listAt, mapAt, textAt, type Report } from '../../src/plugin.ts'

/** Types of upstream whose requests have no headers of their own. */
const HEADERLESS: ReadonlyMap<string, string> = new Map([
  ['stdio', 'is a local process'],
  ['ws', 'has one WebSocket for many sessions'],
])

/** Upstreams that are named must exist, and have headers. */
export function check(config: unknown, report: Report): void {
  const upstreams = mapAt(config, 'upstreams')
  const names = Object.keys(upstreams)
  listAt(config, 'sessionHeaders', 'upstreams').forEach((name, i) => {
    const pointer = `/sessionHeaders/upstreams/${i}`
    if (typeof name !== 'string' || !isKnown(name, { what: 'upstream', names }, pointer, report)) return
    const why = isObject(upstreams[name]) ? HEADERLESS.get(textAt(upstreams, name, 'type') ?? '') : undefined
    if (why === undefined) return
    const message = `upstream "${name}" ${why} and gets no headers`
    report({ pointer, message, hint: 'name HTTP upstreams only', severity: 'warning' })
  })
}
