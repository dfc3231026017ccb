import { type CacheConfig, LISTS, type Log, type PluginHooks, type Upstream } from '../../src/plugin.ts'
import { LIST_METHODS } from './entry.ts'
import type { ListMemory } from './list-memory.ts'
import { dangerous, hasToolRules, type Rules, rulesOf } from './policy.ts'
import type { Sharing } from './shared/sharing.ts'
import type { Counts, Entry, Store } from './store.ts'
import { type Shared, UpstreamCache } from './upstream-cache.ts'

/** Stores that kept the lists of an upstream last. An upstream outlives a configuration that says nothing new of it. */
const stores = new WeakMap<Upstream, Store>()

/** Tools only where a rule names some. */
const HANDLED: ReadonlySet<string> = new Set([...LIST_METHODS, 'resources/read', 'prompts/get'])

interface Means extends Omit<Shared, 'kept' | 'saysSo'> {
  readonly options: CacheConfig
  readonly counts: Counts
  readonly memory: ListMemory
  readonly sharing: Sharing | undefined
  readonly log: Log
}

/** Upstreams that calls may go to: those of the configuration, and those that plugins add. */
export interface KnownUpstreams {
  readonly names: ReadonlySet<string>
  /** Rules of those before which a cache stands. */
  readonly rules: ReadonlyMap<string, Rules>
}

/** Puts a cache before each upstream that may have one, and knows all of them from then on. */
export function standBeforeUpstreams(
  hooks: PluginHooks,
  configured: readonly string[],
  means: Means,
): KnownUpstreams {
  const { options, counts, sharing } = means
  const known = {
    names: new Set(configured),
    rules: new Map<string, Rules>(),
  }
  const warn = dangerous(means.log)
  hooks.dispatch.tap({ phase: 'cache' }, (next, upstream) => {
    const { name, spec } = upstream
    known.names.add(name)
    if (spec.cache === false) return undefined
    const rules = rulesOf(name, spec, options)
    known.rules.set(name, rules)
    const keepsTools = hasToolRules(spec, options)
    goOnWithLists(upstream, means)
    const kept = (entry: Entry, isNew: boolean): void => {
      handOver(upstream, means.store)
      if (isNew) means.memory.changed(entry)
      if (isNew && keepsTools && entry.method === LISTS.tools.method) warn(upstream, rules, entry.payload)
    }
    const { store, flights, failures, clock, asked, purge } = means
    const around = { store, flights, failures, clock, asked, purge, saysSo: options.meta, kept }
    const own = new UpstreamCache(upstream, rules, counts.of(name), around, sharing?.of(name, spec))
    const isOurs = (method: string): boolean => HANDLED.has(method) || (keepsTools && method === 'tools/call')
    return call => (isOurs(call.method) ? own.answer(call, next) : next(call))
  })
  return known
}

/** Begins with the lists of the configuration before, and of earlier runs. */
function goOnWithLists(upstream: Upstream, { store, memory }: Means): void {
  takeOver(upstream, store)
  memory.recall(upstream)
}

/** Takes over what the configuration before knew of an upstream; while it runs it is asked again all the same. */
function takeOver(upstream: Upstream, store: Store): void {
  const entries = stores.get(upstream)?.select({ upstream: upstream.name }) ?? []
  for (const entry of entries) {
    if (!LIST_METHODS.has(entry.method)) continue
    store.keep({ ...entry, trust: entry.trust === 'lost' ? 'lost' : 'doubtful', hits: 0 })
  }
}

/** The lists of an upstream are kept here from now on. */
function handOver(upstream: Upstream, store: Store): void {
  stores.set(upstream, store)
}
