import type {
  Clock,
  Config,
  Exchange,
  Log,
  Notification,
  Plugin,
  PluginHooks,
  Upstream,
  UpstreamState,
  Report,
} from '../../src/plugin.ts'
import { canonicalizeUri, LISTS, parseSize, readMap, appendPointer, readValue } from '../../src/plugin.ts'
import { registerVerbs, registerExplain, purgeSelected } from './control-verbs.ts'
import { LIST_METHODS } from './cache-entry.ts'
import { Flights } from './single-flight.ts'
import { SavedLists } from './saved-lists.ts'
import type { CacheRules } from './cache-rules.ts'
import { createDangerWarning, hasToolRules, cachesBeyondLists, compileRules } from './cache-rules.ts'
import type { CacheEntry, Purge, Selection } from './cache-store.ts'
import { CacheCounts, parsePurge, CacheStore } from './cache-store.ts'
import { UpstreamCache } from './upstream-cache.ts'

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
  async setup({ options, config, hooks, clock, log, shared }) {
    if (options === false) return
    const counts = new CacheCounts()
    const store = new CacheStore({ maxEntries: options.maxEntries, maxBytes: parseSize(options.maxBytes) }, counts)
    const parts = { store, flights: new Flights(), memory: new SavedLists(store, clock) }
    const askedExchanges = new WeakSet<Exchange>()
    const getPrefix = (name: string): string => config.upstreams[name]?.prefix ?? `${name}__`
    const forget = (purge: Purge): void => purgeSelection(purge.selection(getPrefix), parts)
    const peers =
      shared &&
      new (await import('./peer-caches.ts')).PeerCaches(shared, clock, outdated => {
        if ('params' in outdated) purgeSelected(outdated.params, parts)
        else forget(parsePurge(outdated.purge, outdated.upstream))
      })
    const purge = (outdated: Purge): void => {
      forget(outdated)
      peers?.broadcast({ purge: outdated.text, upstream: outdated.upstream }).catch(() => undefined)
    }
    const names = new Set(Object.keys(config.upstreams))
    const rules = new Map<string, CacheRules>()
    wrapUpstreams(hooks, { ...parts, options, counts, clock, log, askedExchanges, purge, names, rules })
    if (cachesBeyondLists(Object.values(config.upstreams), options))
      hooks.clientRequest.tap((_ask, exchange) => void askedExchanges.add(exchange))
    invalidateOutdated(hooks, parts)
    hooks.status.tap((status, { name }) => ({ ...status, cache: { ...counts.getCounters(name) } }))
    registerExplain(hooks, rules, { store, clock })
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
  readonly log: Log
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
  const warn = createDangerWarning(deps.log)
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
      if (!isNew) return
      memory.noteChange(entry)
      if (keepsTools && entry.method === LISTS.tools.method) warn(upstream, rules, entry.payload)
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

function purgeSelection(selection: Selection, { store, flights }: CacheDeps): void {
  flights.purge(selection)
  store.purge(selection)
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
      report({
        pointer,
        message: 'is never used',
        hint: '"cache: false" disables the cache',
        severity: 'warning',
      })
    return
  }
  const isCredential = createCredentialTest(config)
  for (const section of sections) {
    checkTools(section, report)
    checkVary(section, isCredential, report)
  }
}

/** Returns a test for headers that carry credentials. */
function createCredentialTest(config: unknown): (header: string) => boolean {
  const keyHeader = readMap(config, 'auth').keyHeader
  const own = typeof keyHeader === 'string' ? keyHeader.toLowerCase() : 'x-api-key'
  const names = new Set(['authorization', 'proxy-authorization', 'cookie', own])
  return header => names.has(header.toLowerCase())
}

/** Credential headers are removed at the listener, and answers are separated by caller anyway. */
function checkVary({ value, pointer }: CacheSection, isCredential: (header: string) => boolean, report: Report): void {
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) {
    const at = appendPointer(pointer, key)
    if (key !== 'vary' || !Array.isArray(inner)) {
      checkVary({ value: inner, pointer: at }, isCredential, report)
      continue
    }
    inner.forEach((entry: unknown, i) => {
      const header = typeof entry === 'string' && entry.startsWith('header:') ? entry.slice('header:'.length) : ''
      if (!isCredential(header)) return
      const message = `header "${header}" is a credential and not available to rules`
      report({ pointer: `${at}/${i}`, message, hint: 'remove it: answers are always separated by caller' })
    })
  }
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
    report({
      pointer,
      message: 'this rule has no effect',
      hint: 'set "ttl" or "purges"',
      on: 'key',
    })
  } else if (ttl !== undefined && purges !== undefined) {
    const message = 'a tool that purges others modifies data, so its own answers are not cached'
    report({ pointer: `${pointer}/ttl`, message, hint: 'remove "ttl" or "purges"', on: 'key' })
  }
}
