import { liveOf } from '../kept-upstream.ts'
import type { Upstream } from '../../api/index.ts'

const PART = 'unlisted'

/** List methods that upstreams are known to lack. An upstream may outlive a configuration, and so does this. */
export class UnlistedMethods {
  /** By what runs behind an upstream. */
  readonly #found = new WeakMap<Upstream, Set<string>>()

  /**
   * Tells whether an upstream that does not run is known to lack a list method, though its capabilities suggest one: many
   * have resources, and no templates. Once it runs it is asked.
   */
  has(upstream: Upstream, method: string): boolean {
    const isAsleep = upstream.state === 'idle' || upstream.state === 'starting'
    return isAsleep && this.#of(upstream).has(method)
  }

  /** Notes whether an upstream knows a list method. */
  note(upstream: Upstream, method: string, isListed: boolean): void {
    const methods = this.#of(upstream)
    if (methods.has(method) !== isListed) return
    if (isListed) methods.delete(method)
    else methods.add(method)
    upstream.memory?.write(PART, [...methods])
  }

  #of(upstream: Upstream): Set<string> {
    const live = liveOf(upstream)
    let methods = this.#found.get(live)
    if (methods === undefined) {
      const saved = upstream.memory?.read(PART)
      methods = new Set(Array.isArray(saved) ? saved.filter(one => typeof one === 'string') : [])
      this.#found.set(live, methods)
    }
    return methods
  }
}
