import type {
  Clock,
  Config,
  Exchange,
  Notification,
  Plugin,
  PluginHooks,
  Upstream,
  UpstreamState,
  Report,
  Call,
  ExplainStep,
  JsonObject,
} from '../../src/plugin.ts'
import {
  canonicalizeUri,
  LISTS,
  parseSize,
  readMap,
  appendPointer,
  readValue,
  formatDuration,
  gatewayError,
  compileGlobs,
  suggestHint,
  getErrorMessage,
  readText,
} from '../../src/plugin.ts'
import type { CacheRules } from './cache-rules.ts'
import { hasToolRules, compileRules } from './cache-rules.ts'
import type { CacheEntry, Purge, Selection } from './cache-store.ts'
import { CacheCounts, CacheStore, LIST_METHODS, parsePurge, PeerCaches, SavedLists } from './cache-store.ts'
import { Flights } from './single-flight.ts'
import { UpstreamCache } from './upstream-cache.ts'

/** Explains which rule applies. */
function explainCache(call: Call, rules: CacheRules): ExplainStep {
  const { policy, purges } = rules(call) ?? { policy: undefined, purges: [] }
  const step = { by: 'cache', at: 'dispatch', does: 'passes' } as const
  if (purges.length > 0) return { ...step, text: 'a successful call purges other cache entries' }
  if (policy === undefined) return { ...step, text: 'no cache rule applies' }
  const { ttlMs, perSession } = policy
  const text = `answers are cached for ${formatDuration(ttlMs)} per ${perSession ? 'session' : 'caller'}`
  return { ...step, text, facts: { ttlMs } }
}

/** Entries in a `cache.ls` response. */
const DEFAULT_LIMIT = 1000

/** Whether the other replicas' caches received the purge. */
type PurgeReport = { readonly peers: 'notified' } | { readonly peers: 'pending'; readonly why: string }

interface CacheControlDeps extends CacheDeps {
  readonly clock: Clock
  /** Broadcasts a purge to other replicas; undefined without replicas. */
  readonly notifyPeers: ((params: JsonObject) => Promise<void>) | undefined
  /** All upstream names, including those added by plugins. */
  readonly upstreams: ReadonlySet<string>
}

/** Registers the control verbs `cache.ls`, `cache.purge`, and `catalogue.forget` for saved lists. */
function registerVerbs(hooks: PluginHooks, controlled: CacheControlDeps): void {
  const { store, clock, memory, notifyPeers, upstreams } = controlled
  hooks.control.for('cache.ls').tap({ readOnly: true }, params => {
    checkUpstream(params, upstreams)
    const entries = store.select(parseSelection(params))
    const limit = typeof params.limit === 'number' ? params.limit : DEFAULT_LIMIT
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
    for (const method of LIST_METHODS) purgeSelection({ upstream, method }, controlled)
    return { forgotten: memory.forget(upstream) }
  })
}

/** Purges the selected entries, also from the saved lists, and returns their number. */
function purgeSelected(params: JsonObject, parts: CacheDeps): number {
  const selection = parseSelection(params)
  const purged = purgeSelection(selection, parts)
  parts.memory.save(selection.upstream)
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

function parseSelection({ all, upstream, method, name }: JsonObject): Selection {
  if (all === true) return {}
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

const UPDATED = 'notifications/resources/updated'

const NEWS = [...Object.values(LISTS).map(({ changed }) => changed), UPDATED]

const ANSWERS = ['resources/read', 'prompts/get', 'tools/call']

/** Stores by upstream: an unchanged upstream survives a reload. */
const stores = new WeakMap<Upstream, CacheStore>()

/** Tools are added only if a rule names some. */
const HANDLED: ReadonlySet<string> = new Set([...LIST_METHODS, 'resources/read', 'prompts/get'])

/** Caches lists, and the answers to reads, prompts and tools with a rule. */
export const cache: Plugin<Config['cache']> = {
  name: 'cache',
  claims: { section: 'cache', upstream: ['cache'] },
  check,
  commands: () => import('./commands.ts'),
  setup({ options, config, hooks, clock, shared }) {
    if (options === false) return
    const counts = new CacheCounts()
    const store = new CacheStore({ maxEntries: options.maxEntries, maxBytes: parseSize(options.maxBytes) }, counts)
    const parts = { store, flights: new Flights(), memory: new SavedLists(store, clock) }
    const askedExchanges = new WeakSet<Exchange>()
    const getPrefix = (name: string): string => config.upstreams[name]?.prefix ?? `${name}__`
    const forget = (purge: Purge): void => void purgeSelection(purge.selection(getPrefix), parts)
    const peers =
      shared &&
      new PeerCaches(shared, clock, outdated => {
        if ('params' in outdated) purgeSelected(outdated.params, parts)
        else forget(parsePurge(outdated.purge, outdated.upstream))
      })
    const purge = (outdated: Purge): void => {
      forget(outdated)
      peers?.broadcast({ purge: outdated.text, upstream: outdated.upstream }).catch(() => undefined)
    }
    const names = new Set(Object.keys(config.upstreams))
    const rules = new Map<string, CacheRules>()
    wrapUpstreams(hooks, { ...parts, options, counts, clock, askedExchanges, purge, names, rules })
    hooks.clientRequest.tap((_ask, exchange) => void askedExchanges.add(exchange))
    invalidateOutdated(hooks, parts)
    hooks.status.tap((status, { name }) => ({ ...status, cache: { ...counts.getCounters(name) } }))
    hooks.explain.tap((steps, { call }) => {
      const own = rules.get(call?.upstream ?? '')
      return call === undefined || own === undefined ? undefined : [...steps, explainCache(call, own)]
    })
    registerVerbs(hooks, {
      ...parts,
      clock,
      upstreams: names,
      notifyPeers: peers && (params => peers.broadcast({ params })),
    })
    let isUsed = false
    hooks.ready.tap(() => {
      isUsed = true
      peers?.start()
    })
    hooks.close.tap(() => {
      if (isUsed) peers?.stop()
      // Keep the lists; other answers end with their configuration.
      for (const method of ANSWERS) store.purge({ method })
    })
  },
}

/** Cache state for one configuration. */
interface CacheDeps {
  readonly store: CacheStore
  readonly flights: Flights
  readonly memory: SavedLists
}

interface WrapDeps extends CacheDeps {
  readonly options: Exclude<Config['cache'], false | undefined>
  readonly counts: CacheCounts
  readonly clock: Clock
  readonly askedExchanges: WeakSet<Exchange>
  purge(purge: Purge): void
  /** Upstream names, including those added by plugins. */
  readonly names: Set<string>
  /** Compiled rules of the cached upstreams. */
  readonly rules: Map<string, CacheRules>
}

/** Wraps each cacheable upstream. */
function wrapUpstreams(hooks: PluginHooks, deps: WrapDeps): void {
  const { store, flights, memory, options, counts, clock, askedExchanges, purge } = deps
  hooks.dispatch.tap((next, upstream) => {
    const { name, spec } = upstream
    deps.names.add(name)
    if (spec.cache === false) return undefined
    const rules = compileRules(name, spec, options)
    deps.rules.set(name, rules)
    const keepsTools = hasToolRules(spec, options)
    adoptEntries(upstream, store)
    memory.restore(upstream)
    const onStored = (entry: CacheEntry, isNew: boolean): void => {
      stores.set(upstream, store)
      if (isNew && entry.isPortable) memory.save(name)
    }
    const shared = { store, flights, clock, askedExchanges, purge, onStored }
    const own = new UpstreamCache(upstream, rules, counts.getCounters(name), shared)
    return call =>
      HANDLED.has(call.method) || (keepsTools && call.method === 'tools/call') ? own.answer(call, next) : next(call)
  })
}

/** Adopts the previous configuration's lists as doubtful, so that a running server is asked again. */
function adoptEntries(upstream: Upstream, store: CacheStore): void {
  for (const entry of stores.get(upstream)?.select({ upstream: upstream.name }) ?? [])
    if (LIST_METHODS.has(entry.method))
      store.put({ ...entry, trust: entry.trust === 'lost' ? 'lost' : 'doubtful', hits: 0 })
}

/** Invalidates entries on server notifications and state changes. */
function invalidateOutdated(hooks: PluginHooks, parts: CacheDeps): void {
  hooks.notification.tap({ methods: NEWS }, (news, { direction, upstream }) => {
    if (direction !== 'client' || upstream === undefined) return
    for (const selection of selectOutdated(news, upstream)) purgeSelection(selection, parts)
    if (news.method !== UPDATED) parts.memory.save(upstream)
  })
  hooks.upstreamState.tap((upstream, state) => OF_STATE[state]?.(upstream, parts))
}

/** Selects entries that a notification makes outdated. */
function selectOutdated({ method, params }: Notification, upstream: string): Selection[] {
  if (method === UPDATED) return [{ upstream, method: 'resources/read', target: canonicalizeUri(String(params?.uri)) }]
  const lists = Object.values(LISTS).filter(({ changed }) => changed === method)
  return lists.map(list => ({ upstream, method: list.method }))
}

/** Purges the selected entries and returns their number. */
function purgeSelection(selection: Selection, { store, flights }: CacheDeps): number {
  flights.purge(selection)
  return store.purge(selection)
}

type StateHandler = (upstream: string, parts: CacheDeps) => void

/** A stopped server's entries stay valid, but a restarted one may answer differently. */
const OF_STATE: Partial<Record<UpstreamState, StateHandler>> = {
  ready(upstream, { store }) {
    for (const entry of store.select({ upstream })) entry.trust = 'doubtful'
  },
  failed(upstream, { store, flights }) {
    for (const method of LIST_METHODS) {
      flights.purge({ upstream, method })
      for (const entry of store.select({ upstream, method })) entry.trust = 'lost'
    }
  },
  stopped(upstream, { store, flights }) {
    flights.purge({ upstream })
    for (const entry of store.select({ upstream })) entry.trust = 'lost'
  },
}

interface CacheSection {
  readonly value: unknown
  readonly pointer: string
}

/** Reports cache rules that are ineffective or contradictory. */
function check(config: unknown, report: Report): void {
  const sections = listSections(config)
  if (readValue(config, 'cache') === false) {
    for (const { pointer } of sections.slice(1))
      report({ pointer, message: 'is never used', hint: '"cache: false" disables the cache', severity: 'warning' })
    return
  }
  for (const section of sections) checkTools(section, report)
}

/** Lists the global section, followed by the upstreams' sections. */
function listSections(config: unknown): CacheSection[] {
  const upstreams = readMap(config, 'upstreams')
  const own = Object.keys(upstreams).map(name => ({
    value: readValue(upstreams, name, 'cache'),
    pointer: `${appendPointer('/upstreams', name)}/cache`,
  }))
  const maps = own.filter(({ value }) => typeof value === 'object' && value !== null)
  return [{ value: readValue(config, 'cache'), pointer: '/cache' }, ...maps]
}

function checkTools({ value, pointer }: CacheSection, report: Report): void {
  const tools = readMap(value, 'tools')
  for (const glob of Object.keys(tools)) {
    if (typeof tools[glob] !== 'object') continue
    checkRule(readMap(tools, glob), appendPointer(`${pointer}/tools`, glob), report)
  }
}

function checkRule(rule: Readonly<Record<string, unknown>>, pointer: string, report: Report): void {
  const { ttl, purges } = rule
  if (ttl === undefined && purges === undefined) {
    report({ pointer, message: 'this rule has no effect', hint: 'set "ttl" or "purges"', on: 'key' })
  } else if (ttl !== undefined && purges !== undefined) {
    const message = 'a tool that purges others modifies data, so its own answers are not cached'
    report({ pointer: `${pointer}/ttl`, message, hint: 'remove "ttl" or "purges"', on: 'key' })
  }
}
