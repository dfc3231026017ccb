import type { Upstream } from '../../src/plugin.ts'
import { LIST_METHODS } from './entry.ts'
import type { Store } from './store.ts'

/** Where the lists of an upstream were kept last. An upstream outlives a configuration that says nothing new of it. */
const stores = new WeakMap<Upstream, Store>()

/** The lists of an upstream are kept here from now on. */
export function handOver(upstream: Upstream, store: Store): void {
  stores.set(upstream, store)
}

/** Takes over what the configuration before knew of an upstream; while it runs it is asked again all the same. */
export function takeOver(upstream: Upstream, store: Store): void {
  const entries = stores.get(upstream)?.select({ upstream: upstream.name }) ?? []
  for (const entry of entries) {
    if (!LIST_METHODS.has(entry.method)) continue
    store.keep({ ...entry, trust: entry.trust === 'lost' ? 'lost' : 'doubtful', hits: 0 })
  }
}
