import { mapAt, textAt } from '../../util/plain.ts'
import { pointerTo } from '../../util/pointer.ts'
import type { Report } from '../problem.ts'

/** Where a listener's paths are written, in the order in which they are looked up. */
const PLACES = [['path'], ['sse', 'path'], ['sse', 'messages'], ['ws', 'path']] as const
const PROBES: ReadonlySet<string> = new Set(['/livez', '/healthz', '/readyz'])

/** Every path at which a listener has clients. */
export function pathsOf(listener: unknown): string[] {
  return PLACES.map(place => textAt(listener, ...place)).filter(path => path !== undefined)
}

/** One path of a listener leads to one thing. */
export function checkPaths(config: unknown, report: Report): void {
  const listeners = mapAt(config, 'listeners')
  for (const name of Object.keys(listeners)) {
    const taken = new Map<string, string>()
    for (const place of PLACES) {
      const path = textAt(listeners, name, ...place)
      if (path === undefined) continue
      const owner = PROBES.has(path) ? 'the probes' : taken.get(path)
      const pointer = place.reduce<string>(pointerTo, pointerTo('/listeners', name))
      if (owner === undefined) taken.set(path, `"${place.join('.')}"`)
      else
        report({
          pointer,
          message: `${path} already belongs to ${owner} of this listener`,
          hint: 'choose another path',
        })
    }
  }
}
