import { isPlain, listAt, mapAt, textAt } from '../../util/plain.ts'
import { didYouMean } from '../../util/suggest.ts'
import type { Report } from '../problem.ts'

/** Types of upstream whose requests have no headers of their own. */
const HEADERLESS: ReadonlyMap<string, string> = new Map([
  ['stdio', 'is a local process'],
  ['ws', 'has one WebSocket for many sessions'],
])

/** Every upstream that is spoken of must exist, and be one that can do what is asked of it. */
export function checkNames(config: unknown, report: Report): void {
  const upstreams = mapAt(config, 'upstreams')
  listAt(config, 'routes').forEach((route, i) => {
    const to = textAt(route, 'to')
    if (to !== undefined) known(to, `/routes/${i}/to`)
  })
  listAt(config, 'sessionHeaders', 'upstreams').forEach((name, i) => {
    const pointer = `/sessionHeaders/upstreams/${i}`
    if (typeof name === 'string' && known(name, pointer)) withHeaders(name, pointer)
  })
  for (const [section, severity] of LISTENING) checkListenerNames(config, section, severity, report)

  function known(name: string, pointer: string): boolean {
    if (Object.hasOwn(upstreams, name)) return true
    report({
      pointer,
      message: `there is no upstream "${name}"`,
      hint: didYouMean(name, Object.keys(upstreams)),
    })
    return false
  }

  function withHeaders(name: string, pointer: string): void {
    const why = isPlain(upstreams[name]) ? HEADERLESS.get(textAt(upstreams, name, 'type') ?? '') : undefined
    if (why === undefined) return
    const message = `upstream "${name}" ${why} and gets no headers`
    report({ pointer, message, hint: 'name HTTP upstreams only', severity: 'warning' })
  }
}

/** Sections that name listeners. Who is to ask callers for credentials must not be misspelt. */
const LISTENING = [
  ['auth', 'error'],
  ['metrics', 'warning'],
] as const

function checkListenerNames(
  config: unknown,
  section: string,
  severity: 'error' | 'warning',
  report: Report,
): void {
  const listeners = mapAt(config, 'listeners')
  listAt(config, section, 'listeners').forEach((name, i) => {
    if (typeof name === 'string' && Object.hasOwn(listeners, name)) return
    const message = `there is no listener "${String(name)}"`
    const hint = didYouMean(String(name), Object.keys(listeners))
    report({ pointer: `/${section}/listeners/${i}`, message, hint, severity })
  })
}
