import type { Call, Clock, ExplainStep, JsonObject, PluginHooks } from '../../src/plugin.ts'
import { formatDuration, gatewayError, compileGlobs, suggestHint, getErrorMessage } from '../../src/plugin.ts'
import { LIST_METHODS } from './entry.ts'
import type { Flights } from './flights.ts'
import { isPlain, keysOf, targetOf } from './keys.ts'
import type { ListMemory } from './list-memory.ts'
import type { Policy, Rules } from './policy.ts'
import type { Entry, Selection, Store } from './store.ts'

const BASE = { by: 'cache', at: 'dispatch' } as const

interface CacheState {
  readonly store: Store
  readonly clock: Clock
}

/** Has the ways of calls say what the cache does with each. */
export function explains(hooks: PluginHooks, rulesOf: ReadonlyMap<string, Rules>, kept: CacheState): void {
  hooks.explain.tap((steps, { call, hasArguments }) => {
    const rules = rulesOf.get(call?.upstream ?? '')
    if (call === undefined || rules === undefined) return undefined
    return [...steps, explainCache(call, rules, hasArguments, kept)]
  })
}

/** Says by which rule an answer is kept, and whether one is kept now. */
function explainCache(
  call: Call,
  rules: Rules,
  hasArguments: boolean,
  { store, clock }: CacheState,
): ExplainStep {
  const rule = rules(call)
  if (rule === undefined) return { ...BASE, does: 'passes', text: 'no rule keeps its answers' }
  if (rule.purges.length > 0)
    return { ...BASE, does: 'passes', text: 'its success makes kept answers of others out of date' }
  const { policy } = rule
  if (policy === undefined) return { ...BASE, does: 'passes', text: 'no rule keeps its answers' }
  const facts = { ttlMs: policy.ttlMs }
  const kept = `answers are kept for ${formatDuration(policy.ttlMs)}${whose(policy)}`
  if (!hasArguments)
    return { ...BASE, does: 'depends', text: `${kept}; --args says whether one is kept now`, facts }
  const entry = isPlain(call) ? entryFor(call, policy, store) : undefined
  const now = clock.now()
  if (entry?.trust !== 'known' || now >= entry.revalidateUntil)
    return { ...BASE, does: 'passes', text: `${kept}; none is kept now`, facts }
  const age = formatDuration(now - entry.storedAt)
  const state = now < entry.staleAt ? 'fresh' : 'stale, and is renewed meanwhile'
  return { ...BASE, does: 'answers', text: `the answer of ${age} ago is ${state}`, facts }
}

function whose({ perSession, headers, args }: Policy): string {
  const by = [
    perSession ? 'session' : 'caller',
    ...headers.map(name => `header ${name}`),
    args === undefined ? 'arguments' : `arguments ${args.join(', ')}`,
  ]
  return ` by ${by.join(', ')}`
}

function entryFor(call: Call, policy: Policy, store: Store): Entry | undefined {
  const keys = keysOf(call, targetOf(call), policy)
  return keys === undefined ? undefined : (store.look(keys.own) ?? store.look(keys.shared))
}

/** Entries in one answer of `cache.ls`. */
const MAX_LISTED = 10_000
const LISTED = 1000

/** Report on the other processes that are this gateway: whether their caches know. */
type PurgeReport = { readonly others: 'told' } | { readonly others: 'not told yet'; readonly why: string }

interface Controlled {
  readonly store: Store
  readonly flights: Flights
  readonly clock: Clock
  readonly memory: ListMemory
  /** Tells the others of what the owner selected; undefined where there are none. */
  readonly tell: ((params: JsonObject) => Promise<void>) | undefined
  /** Names of all upstreams; plugins add some to those of the configuration. */
  readonly upstreams: ReadonlySet<string>
}

/** Verbs of the cache for the owner of a running gateway: `cache.ls`, `cache.purge`, and `catalogue.forget` for saved lists. */
export function control(hooks: PluginHooks, controlled: Controlled): void {
  const { store, flights, clock, memory, tell, upstreams } = controlled
  hooks.control.for('cache.ls').tap({ looks: true }, params => {
    checkUpstream(params, upstreams)
    const entries = store.select(selectionOf(params))
    const limit = typeof params.limit === 'number' ? Math.min(params.limit, MAX_LISTED) : LISTED
    const now = clock.now()
    return {
      entries: entries.slice(0, limit).map(entry => rowOf(entry, now)),
      total: entries.length,
      bytes: entries.reduce((sum, { bytes }) => sum + bytes, 0),
      maxEntries: store.maxEntries,
      maxBytes: store.maxBytes,
    }
  })
  hooks.control.for('cache.purge').tap(async params => {
    if (!isMeantAtAll(params)) return { purged: 0, problem: 'say what to purge, or "all": true' }
    checkUpstream(params, upstreams)
    const purged = purgeAsked(params, controlled)
    return { purged, ...(tell === undefined ? {} : await told(tell(params))) }
  })
  // The memory of earlier runs is forgotten, too: the next caller wakes the server.
  hooks.control.for('catalogue.forget').tap(params => {
    const upstream = textOf(params.upstream)
    checkUpstream(params, upstreams)
    for (const method of LIST_METHODS) {
      flights.purge({ upstream, method })
      store.purge({ upstream, method })
    }
    return { forgotten: memory.forget(upstream) }
  })
}

/** Forgets what the owner selects here; says of how much. */
export function purgeAsked(
  params: JsonObject,
  { store, flights, memory }: Pick<Controlled, 'store' | 'flights' | 'memory'>,
): number {
  const selection = selected(params)
  flights.purge(selection)
  const purged = store.purge(selection)
  memory.save(selection.upstream)
  return purged
}

async function told(telling: Promise<void>): Promise<PurgeReport> {
  try {
    await telling
    return { others: 'told' }
  } catch (error) {
    return { others: 'not told yet', why: getErrorMessage(error) }
  }
}

/** Refuses the name of an upstream that is not there: nothing purged would look as if all were well. @throws GatewayError */
function checkUpstream({ upstream }: JsonObject, upstreams: ReadonlySet<string>): void {
  if (typeof upstream === 'string' && !upstreams.has(upstream))
    throw gatewayError('GW_UPSTREAM_UNKNOWN', { upstream, meant: suggestHint(upstream, [...upstreams]) })
}

/** An empty request is more likely a mistake than a wish to lose everything. */
function isMeantAtAll(params: JsonObject): boolean {
  return (
    params.all === true || ['upstream', 'method', 'name', 'tag'].some(key => typeof params[key] === 'string')
  )
}

function selected(params: JsonObject): Selection {
  return params.all === true ? {} : selectionOf(params)
}

function selectionOf({ upstream, method, name, tag }: JsonObject): Selection {
  return {
    upstream: textOf(upstream),
    method: textOf(method),
    tag: textOf(tag),
    target: typeof name === 'string' ? compileGlobs(name) : undefined,
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** Neither arguments nor callers: only what the owner of the configuration knows anyway. */
function rowOf(entry: Entry, now: number): JsonObject {
  const { upstream, method, target, scope, bytes, hits, tags } = entry
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
    ...(tags.length === 0 ? {} : { tags }),
  }
}
