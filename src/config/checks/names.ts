import { isPlain, listAt, mapAt, textAt } from '../../util/plain.ts'
import { didYouMean } from '../../util/suggest.ts'
import type { Report } from '../problem.ts'

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
    if (!isPlain(upstreams[name]) || textAt(upstreams, name, 'type') !== 'stdio') return
    const message = `upstream "${name}" is a local process and gets no headers`
    report({ pointer, message, hint: 'name HTTP upstreams only', severity: 'warning' })
  }
}
