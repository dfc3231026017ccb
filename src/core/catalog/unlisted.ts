import { liveOf } from '../upstream.ts'
import type { Upstream } from '../../api/index.ts'

const PART = 'unlisted'
/** List methods known to be missing, by what runs behind an upstream. */
const found = new WeakMap<Upstream, Set<string>>()

/**
 * Tells whether an upstream that does not run is known to lack a list method, though its capabilities suggest one: many
 * have resources, and no templates. Once it runs it is asked.
 */
export function isUnlisted(upstream: Upstream, method: string): boolean {
  const isAsleep = upstream.state === 'idle' || upstream.state === 'starting'
  return isAsleep && methodsOf(upstream).has(method)
}

/** Notes whether an upstream knows a list method. */
export function noteListed(upstream: Upstream, method: string, isListed: boolean): void {
  const methods = methodsOf(upstream)
  if (methods.has(method) !== isListed) return
  if (isListed) methods.delete(method)
  else methods.add(method)
  upstream.memory?.write(PART, [...methods])
}

function methodsOf(upstream: Upstream): Set<string> {
  const live = liveOf(upstream)
  let methods = found.get(live)
  if (methods === undefined) {
    const saved = upstream.memory?.read(PART)
    methods = new Set(Array.isArray(saved) ? saved.filter(one => typeof one === 'string') : [])
    found.set(live, methods)
  }
  return methods
}
