import {
  type CacheConfig,
  canonicalOr,
  type Clock,
  type Config,
  type Exchange,
  type JsonObject,
  kindsChangedBy,
  LIST_CHANGES,
  LISTS,
  type Notification,
  parseDuration,
  parseSize,
  type Plugin,
  type PluginApi,
  type PluginHooks,
  type SharedStore,
  type UpstreamState,
} from '../../src/plugin.ts'
import { standBeforeUpstreams } from './before-upstreams.ts'
import { check } from './check.ts'
import { control, purgeAsked } from './control.ts'
import type { Outdated, OtherCaches } from './other-caches.ts'
import { Counts, Store, type Selection, parsePurge, type Purge } from './store.ts'
import { explains } from './explain.ts'
import { keepsMore } from './policy.ts'
import { LIST_METHODS } from './entry.ts'
import { Failures, Flights } from './flights.ts'
import type { Sharing } from './shared/sharing.ts'
import { ListMemory, SavedLists } from './list-memory.ts'
import type { Shared } from './upstream-cache.ts'

const UPDATED = 'notifications/resources/updated'

const NEWS = [...LIST_CHANGES, UPDATED]

const ANSWERS = ['resources/read', 'prompts/get', 'tools/call']

/** Answers from memory what would be answered the same: lists, and reads, prompts and tools where a rule says so. */
export const cache: Plugin<Config['cache']> = {
  name: 'cache',
  claims: { section: 'cache', upstream: ['cache'] },
  check,
  commands: () => import('./commands.ts'),
  async setup({ options, config, hooks, clock, log, shared, slot }) {
    if (options === false) return
    const others = shared && (await othersOf(shared, clock, slot))
    const sharing = await sharingOf(options, { store: shared, clock, config, slot })
    const counts = new Counts()
    const store = new Store(boundsOf(options), counts)
    const failures = new Failures(parseDuration(options.negative), clock)
    const memory = new ListMemory(new SavedLists(store, clock))
    const parts = { store, flights: new Flights(), failures, memory, sharing }
    const asked = new WeakSet<Exchange>()
    const prefixOf = (name: string): string => config.upstreams[name]?.prefix ?? `${name}__`
    const forget = (purge: Purge): void => forgetOne(purge.selection(prefixOf), parts)
    const purge = (outdated: Purge): void => {
      forget(outdated)
      sharing?.outdate(outdated.selection(prefixOf))
      others?.tell({ purge: outdated.text, upstream: outdated.upstream }).catch(() => undefined)
    }
    const known = standBeforeUpstreams(hooks, Object.keys(config.upstreams), {
      ...parts,
      ...{ options, counts, clock, log, asked, purge },
    })
    if (keepsMore(Object.values(config.upstreams), options))
      hooks.clientRequest.tap((_ask, exchange) => void asked.add(exchange))
    keepUpToDate(hooks, parts)
    hooks.status.tap((status, { name }) => ({
      ...status,
      cache: { ...counts.of(name), ...sharing?.countersOf(name) },
    }))
    explains(hooks, known.rules, { store, clock, sharing })
    const tell = others && ((params: JsonObject) => others.tell({ params }))
    control(hooks, { ...parts, clock, tell, upstreams: known.names })
    if (others !== undefined)
      hear(hooks, others, sharing, told => {
        if ('params' in told) purgeAsked(told.params, parts)
        else forget(parsePurge(told.purge, told.upstream))
      })
  },
}

function boundsOf({ maxEntries, maxBytes }: CacheConfig): { maxEntries: number; maxBytes: number } {
  return { maxEntries, maxBytes: parseSize(maxBytes) }
}

/** The caches of the other processes that are this gateway, whichever generation asks. */
async function othersOf(shared: SharedStore, clock: Clock, slot: PluginApi['slot']): Promise<OtherCaches> {
  const { OtherCaches: Others } = await import('./other-caches.ts')
  return slot.gateway(() => new Others(shared, clock))
}

/** Answers that replicas share; nothing is loaded where they do not. */
async function sharingOf(
  options: CacheConfig,
  { store, ...means }: { store: SharedStore | undefined } & Pick<PluginApi, 'clock' | 'config' | 'slot'>,
): Promise<Sharing | undefined> {
  if ((options.shared ?? false) === false || store === undefined) return undefined
  const { Sharing: Made } = await import('./shared/sharing.ts')
  return new Made(options.shared, { store, ...means })
}

/** Hears of the others for as long as this generation runs. */
function hear(
  { ready, close }: PluginHooks,
  others: OtherCaches,
  sharing: Sharing | undefined,
  heard: (told: Outdated) => void,
): void {
  let isUsed = false
  ready.tap(() => {
    isUsed = true
    others.start(
      (told, missed) => {
        if (missed === 'forgotten') sharing?.outdateAll()
        heard(told)
      },
      async () => sharing?.flush(),
    )
  })
  close.tap(() => {
    if (isUsed) others.stop()
  })
}

/** All that the cache of one configuration keeps. */
interface Parts extends Pick<Shared, 'store' | 'flights' | 'failures'> {
  readonly memory: ListMemory
  readonly sharing: Sharing | undefined
}

/** Has servers say what is outdated, by their news and by their state. */
function keepUpToDate(hooks: PluginHooks, parts: Parts): void {
  hooks.notification.tap({ methods: NEWS }, (news, { direction, upstream }) => {
    if (direction !== 'client' || upstream === undefined) return
    if (news.isOfOwnLists === true) heedOwn(news, upstream, parts)
    else heed(news, upstream, parts)
  })
  hooks.upstreamState.tap((upstream, state) => OF_STATE[state]?.(upstream, parts))
  // Lists may be taken over; the rest ends with its configuration.
  hooks.close.tap(() => ANSWERS.forEach(method => parts.store.purge({ method })))
}

/** Drops what a server's news make outdated. */
function heed(news: Notification, upstream: string, parts: Parts): void {
  for (const selection of outdatedBy(news, upstream)) {
    forgetOne(selection, parts)
    parts.sharing?.outdate(selection)
  }
  if (news.method !== UPDATED) parts.memory.save(upstream)
}

/** Drops lists of connections that few have. Those of the one for all are as they were: a server that sleeps need not wake. */
function heedOwn(news: Notification, upstream: string, parts: Parts): void {
  for (const selection of outdatedBy(news, upstream))
    forgetOne({ ...selection, target: target => target !== '' }, parts)
}

/** Reads what a server's notification is about. */
function outdatedBy({ method, params }: Notification, upstream: string): Selection[] {
  if (method === UPDATED)
    return [{ upstream, method: 'resources/read', target: canonicalOr(String(params?.uri)) }]
  return kindsChangedBy(method).map(kind => ({ upstream, method: LISTS[kind].method }))
}

function forgetOne(selection: Selection, { store, flights }: Parts): void {
  flights.purge(selection)
  store.purge(selection)
}

type OfState = (upstream: string, parts: Parts) => void

/** A server that stops is no reason to forget what it said; another process under its name may say something else. */
const OF_STATE: Partial<Record<UpstreamState, OfState>> = {
  ready(upstream, { store, failures, sharing }) {
    failures.forget(upstream)
    sharing?.isReady(upstream)
    for (const entry of store.select({ upstream })) entry.trust = 'doubtful'
  },
  failed(upstream, { store, flights, sharing }) {
    sharing?.doubt(upstream)
    for (const method of LIST_METHODS) {
      flights.purge({ upstream, method })
      for (const entry of store.select({ upstream, method })) entry.trust = 'lost'
    }
  },
  stopped(upstream, { store, flights, sharing }) {
    sharing?.doubt(upstream)
    flights.purge({ upstream })
    for (const entry of store.select({ upstream })) entry.trust = 'lost'
  },
}
