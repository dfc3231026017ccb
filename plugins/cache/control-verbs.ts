import type { Call, Clock, ExplainStep, JsonObject, PluginHooks } from '../../src/plugin.ts'
import { formatDuration, gatewayError, compileGlobs, suggestHint, getErrorMessage, readText } from '../../src/plugin.ts'
import { LIST_METHODS } from './cache-entry.ts'
import type { Flights } from './single-flight.ts'
import { isCacheableCall, computeKeys, getTarget } from './cache-keys.ts'
import type { SavedLists } from './saved-lists.ts'
import type { CachePolicy, CacheRules } from './cache-rules.ts'
import type { CacheEntry, Selection, CacheStore } from './cache-store.ts'

const BASE = { by: 'cache', at: 'dispatch' } as const

interface CacheState {
  readonly store: CacheStore
  readonly clock: Clock
}

/** Adds cache steps to call explanations. */
export function registerExplain(hooks: PluginHooks, rulesOf: ReadonlyMap<string, CacheRules>, state: CacheState): void {
  hooks.explain.tap((steps, { call, hasArguments }) => {
    const rules = rulesOf.get(call?.upstream ?? '')
    if (call === undefined || rules === undefined) return undefined
    return [...steps, explainCache(call, rules, hasArguments, state)]
  })
}

/** Explains which rule applies and whether an entry exists. */
function explainCache(call: Call, rules: CacheRules, hasArguments: boolean, { store, clock }: CacheState): ExplainStep {
  const rule = rules(call)
  if (rule === undefined) return { ...BASE, does: 'passes', text: 'no cache rule applies' }
  if (rule.purges.length > 0) return { ...BASE, does: 'passes', text: 'a successful call purges other cache entries' }
  const { policy } = rule
  if (policy === undefined) return { ...BASE, does: 'passes', text: 'no cache rule applies' }
  const facts = { ttlMs: policy.ttlMs }
  const description = `cached for ${formatDuration(policy.ttlMs)}${describeScope(policy)}`
  if (!hasArguments)
    return { ...BASE, does: 'depends', text: `${description}; use --args to check for an entry`, facts }
  const entry = isCacheableCall(call) ? findEntry(call, policy, store) : undefined
  const now = clock.now()
  if (entry?.trust !== 'known' || now >= entry.revalidateUntil)
    return { ...BASE, does: 'passes', text: `${description}; no entry`, facts }
  const age = formatDuration(now - entry.storedAt)
  const state = now < entry.staleAt ? 'fresh' : 'stale, revalidated in the background'
  return { ...BASE, does: 'answers', text: `entry from ${age} ago is ${state}`, facts }
}

function describeScope({ perSession, headers, args }: CachePolicy): string {
  const by = [
    perSession ? 'session' : 'caller',
    ...headers.map(name => `header ${name}`),
    args === undefined ? 'arguments' : `arguments ${args.join(', ')}`,
  ]
  return ` per ${by.join(', ')}`
}

function findEntry(call: Call, policy: CachePolicy, store: CacheStore): CacheEntry | undefined {
  const keys = computeKeys(call, getTarget(call), policy)
  return keys === undefined ? undefined : (store.peek(keys.own) ?? store.peek(keys.shared))
}

/** Maximum entries in a `cache.ls` response. */
const MAX_LISTED = 10_000
const LISTED = 1000

/** Whether the other replicas' caches received the purge. */
type PurgeReport = { readonly peers: 'notified' } | { readonly peers: 'pending'; readonly why: string }

interface CacheControlDeps {
  readonly store: CacheStore
  readonly flights: Flights
  readonly clock: Clock
  readonly memory: SavedLists
  /** Broadcasts a purge to other replicas; undefined without replicas. */
  readonly notifyPeers: ((params: JsonObject) => Promise<void>) | undefined
  /** All upstream names, including those added by plugins. */
  readonly upstreams: ReadonlySet<string>
}

/** Registers the control verbs `cache.ls`, `cache.purge`, and `catalogue.forget` for saved lists. */
export function registerVerbs(hooks: PluginHooks, controlled: CacheControlDeps): void {
  const { store, flights, clock, memory, notifyPeers, upstreams } = controlled
  hooks.control.for('cache.ls').tap({ readOnly: true }, params => {
    checkUpstream(params, upstreams)
    const entries = store.select(parseSelection(params))
    const limit = typeof params.limit === 'number' ? Math.min(params.limit, MAX_LISTED) : LISTED
    const now = clock.now()
    return {
      entries: entries.slice(0, limit).map(entry => formatEntry(entry, now)),
      total: entries.length,
      bytes: entries.reduce((sum, { bytes }) => sum + bytes, 0),
      maxEntries: store.maxEntries,
      maxBytes: store.maxBytes,
    }
  })
  hooks.control.for('cache.purge').tap(async params => {
    if (!hasSelector(params))
      return { purged: 0, problem: 'nothing selected: set "upstream", "method" or "name", or "all": true' }
    checkUpstream(params, upstreams)
    const purged = purgeSelected(params, controlled)
    return { purged, ...(notifyPeers === undefined ? {} : await reportPeers(notifyPeers(params))) }
  })
  // Also deletes saved lists, so the next call wakes the server.
  hooks.control.for('catalogue.forget').tap(params => {
    const upstream = readText(params.upstream)
    checkUpstream(params, upstreams)
    for (const method of LIST_METHODS) {
      flights.purge({ upstream, method })
      store.purge({ upstream, method })
    }
    return { forgotten: memory.forget(upstream) }
  })
}

/** Purges the selected entries and returns their number. */
export function purgeSelected(
  params: JsonObject,
  { store, flights, memory }: Pick<CacheControlDeps, 'store' | 'flights' | 'memory'>,
): number {
  const selection = validateSelection(params)
  flights.purge(selection)
  const purged = store.purge(selection)
  memory.save(selection.upstream)
  return purged
}

async function reportPeers(telling: Promise<void>): Promise<PurgeReport> {
  try {
    await telling
    return { peers: 'notified' }
  } catch (error) {
    return { peers: 'pending', why: getErrorMessage(error) }
  }
}

/** Rejects unknown upstreams, because "0 purged" would look like success. @throws GatewayError */
function checkUpstream({ upstream }: JsonObject, upstreams: ReadonlySet<string>): void {
  if (typeof upstream === 'string' && !upstreams.has(upstream))
    throw gatewayError('GW_UPSTREAM_UNKNOWN', { upstream, meant: suggestHint(upstream, [...upstreams]) })
}

/** Rejects an empty selection as a likely mistake. */
function hasSelector(params: JsonObject): boolean {
  return params.all === true || ['upstream', 'method', 'name'].some(key => typeof params[key] === 'string')
}

function validateSelection(params: JsonObject): Selection {
  return params.all === true ? {} : parseSelection(params)
}

function parseSelection({ upstream, method, name }: JsonObject): Selection {
  return {
    upstream: readText(upstream),
    method: readText(method),
    target: typeof name === 'string' ? compileGlobs(name) : undefined,
  }
}

/** Omits arguments and callers. */
function formatEntry(entry: CacheEntry, now: number): JsonObject {
  const { upstream, method, target, scope, bytes, hits } = entry
  const isFresh = entry.trust === 'known' && now < entry.staleAt
  return {
    upstream,
    method,
    ...(target === '' || LIST_METHODS.has(method) ? {} : { name: target }),
    state: isFresh ? 'fresh' : 'stale',
    ageMs: Math.round(now - entry.storedAt),
    ttlMs: isFresh ? Math.round(entry.staleAt - now) : 0,
    bytes,
    hits,
    scope,
  }
}
