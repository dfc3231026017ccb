import type { Clock, SharedStore, Upstream } from '../../src/plugin.ts'
import {
  BoundedMap,
  compileForbiddenUris,
  compileGlobs,
  CountedTopic,
  isObject,
  LISTS,
  Payload,
} from '../../src/plugin.ts'

export const LIST_METHODS: ReadonlySet<string> = new Set(Object.values(LISTS).map(list => list.method))

const METHOD_OF: Readonly<Record<string, string>> = { prompt: 'prompts/get', resource: 'resources/read' }

/**
 * Whether an entry still matches the server: `known`: yes; `doubtful`: another process or connection may have changed
 * it, so revalidate first; `lost`: the server is down.
 */
type Trust = 'known' | 'doubtful' | 'lost'

/** A cache entry. Times are clock milliseconds. */
export interface CacheEntry extends CacheSubject {
  readonly key: string
  readonly scope: 'public' | 'principal' | 'session'
  /** Payload as sent, without the members added per response. */
  readonly payload: Payload
  /** Expiry according to the server's hint; undefined without one. */
  readonly hintUntil: number | undefined
  readonly bytes: number
  readonly storedAt: number
  readonly staleAt: number
  readonly revalidateUntil: number
  /** True if the key depends only on the list, so that the entry can be saved across restarts. */
  readonly isPortable: boolean
  trust: Trust
  hits: number
}

/** Estimated bytes per entry in addition to its text. */
const OVERHEAD = 512

/** Bounded LRU cache. */
export class CacheStore {
  readonly #entries: BoundedMap<string, CacheEntry>
  readonly #counts: CacheCounts
  readonly maxEntries: number
  readonly maxBytes: number

  constructor(bounds: { maxEntries: number; maxBytes: number }, counts: CacheCounts) {
    this.maxEntries = bounds.maxEntries
    this.maxBytes = bounds.maxBytes
    this.#counts = counts
    const onForget = (_key: string, entry: CacheEntry): void => {
      this.#countBytes(entry, -1)
      this.#counts.getCounters(entry.upstream).evictions++
    }
    this.#entries = new BoundedMap({ max: bounds.maxEntries, maxWeight: bounds.maxBytes, onForget })
  }

  /** Estimates an entry's memory in bytes. */
  static cost(key: string, payload: Payload): number {
    return payload.bytes().length + 2 * key.length + OVERHEAD
  }

  /** Finds an entry and marks it as recently used. */
  find(key: string): CacheEntry | undefined {
    return this.#entries.use(key)
  }

  /** Stores or replaces an entry; returns false if it is too large. */
  put(entry: CacheEntry): boolean {
    this.drop(entry.key)
    if (entry.bytes > this.maxBytes) return false
    this.#countBytes(entry, 1)
    this.#entries.set(entry.key, entry, undefined, entry.bytes)
    return true
  }

  drop(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#countBytes(entry, -1)
  }

  /** Returns the selected entries. */
  select(selection: Selection): CacheEntry[] {
    return [...this.#entries.values()].filter(entry => isSelected(entry, selection))
  }

  /** Deletes the selected entries and returns their number. */
  purge(selection: Selection): number {
    const entries = this.select(selection)
    for (const entry of entries) {
      this.drop(entry.key)
      this.#counts.getCounters(entry.upstream).purges++
    }
    return entries.length
  }

  #countBytes({ upstream, bytes }: CacheEntry, sign: 1 | -1): void {
    const counters = this.#counts.getCounters(upstream)
    counters.entries += sign
    counters.bytes += sign * bytes
  }
}

/** True if the item matches the selection. */
export function isSelected(one: CacheSubject, { upstream, method, target }: Selection): boolean {
  if (upstream !== undefined && upstream !== one.upstream) return false
  if (method !== undefined && method !== one.method) return false
  if (typeof target === 'string') return target === one.target
  return target?.(one.target, one.upstream) ?? true
}

/** Properties by which an answer can be selected. */
export interface CacheSubject {
  readonly upstream: string
  readonly method: string
  /** Requested name or URI as the upstream knows it; empty for lists. */
  readonly target: string
}

/** Selection criteria, combined with AND; empty selects everything. */
export interface Selection {
  readonly upstream?: string | undefined
  readonly method?: string | undefined
  /** Exact name or URI, or a predicate. */
  readonly target?: string | ((target: string, upstream: string) => boolean) | undefined
}

/** Builds the selection that a successful tool call invalidates, given each upstream's exposed names. */
export interface Purge {
  readonly text: string
  /** Upstream whose section contains it; undefined for the global section. */
  readonly upstream: string | undefined
  selection(prefixOf: (upstream: string) => string): Selection
}

/**
 * Parses `get_*` (tools), `resource:<glob>` or `prompt:<glob>`. In an upstream's section, names are its own and only
 * its entries match; otherwise names are exposed ones.
 */
export function parsePurge(text: string, upstream: string | undefined): Purge {
  return { text, upstream, selection: parseSelector(text, upstream) }
}

function parseSelector(text: string, upstream: string | undefined): Purge['selection'] {
  const [, kind = 'tool', pattern = text] = /^(prompt|resource):(.*)$/s.exec(text) ?? []
  const method = METHOD_OF[kind] ?? 'tools/call'
  const isMeant = (kind === 'resource' ? compileForbiddenUris : compileGlobs)(pattern)
  if (upstream !== undefined) return () => ({ upstream, method, target: isMeant })
  if (kind === 'resource') return () => ({ method, target: isMeant })
  return prefixOf => ({ method, target: (name, owner) => isMeant(prefixOf(owner) + name) })
}

/** Counters per upstream since the configuration was loaded. */
export interface CacheCounters {
  /** Fresh answers from the cache. */
  hits: number
  /** Answers from the server. */
  misses: number
  /** Stale answers from the cache. */
  stale: number
  /** Answers shared with a concurrent call. */
  coalesced: number
  /** Entries dropped for lack of space. */
  evictions: number
  /** Entries dropped as outdated. */
  purges: number
  /** Current entries. */
  entries: number
  bytes: number
}

export class CacheCounts {
  readonly #byUpstream = new Map<string, CacheCounters>()

  getCounters(upstream: string): CacheCounters {
    let counters = this.#byUpstream.get(upstream)
    if (counters === undefined) {
      counters = { hits: 0, misses: 0, stale: 0, coalesced: 0, evictions: 0, purges: 0, entries: 0, bytes: 0 }
      this.#byUpstream.set(upstream, counters)
    }
    return counters
  }
}

/** Name of the lists in an upstream's memory. */
const PART = 'lists'

/** Size limit for an upstream's saved lists. */
const MAX_SAVED_BYTES = 4 * 1024 * 1024

/** Saves lists across restarts, for upstreams with persistent memory. Saves only lists that belong to no caller. */
export class SavedLists {
  readonly #store: CacheStore
  readonly #clock: Clock
  readonly #memories = new Map<string, NonNullable<Upstream['memory']>>()

  constructor(store: CacheStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /**
   * Restores an upstream's saved lists. They are shown while the server sleeps or starts, and revalidated once it
   * runs.
   */
  restore({ name, memory }: Upstream): void {
    if (memory === undefined) return
    this.#memories.set(name, memory)
    const saved = memory.read(PART)
    const lists: unknown[] = Array.isArray(saved) ? saved : []
    // Restore all pages or none.
    if (!lists.every(isSaved)) return
    for (const list of lists)
      if (this.#store.find(list.key) === undefined) this.#store.put(restoreEntry(name, list, this.#clock))
  }

  /** Saves the lists for one upstream, or all. */
  save(upstream?: string): void {
    const now = this.#clock.now()
    for (const [name, memory] of this.#memories) {
      if (upstream !== undefined && upstream !== name) continue
      const lists = this.#store.select({ upstream: name }).filter(({ isPortable }) => isPortable)
      const size = lists.reduce((sum, { payload }) => sum + payload.bytes().length, 0)
      memory.write(PART, size > MAX_SAVED_BYTES ? [] : lists.map(entry => formatSaved(entry, now)))
    }
  }

  /** Deletes saved lists for one upstream, or all; returns the upstream count. */
  forget(upstream?: string): number {
    const chosen = [...this.#memories].filter(([name]) => upstream === undefined || upstream === name)
    for (const [, memory] of chosen) memory.forget()
    return chosen.length
  }
}

/** A saved list. Times are milliseconds since 1970, because monotonic clocks differ between processes. */
interface SavedList {
  readonly method: string
  readonly key: string
  readonly scope: 'public' | 'principal'
  readonly era: Payload['era']
  readonly at: number
  readonly until: number
  readonly text: string
}

function formatSaved({ method, key, scope, payload, storedAt, staleAt }: CacheEntry, now: number): SavedList {
  return {
    method,
    key,
    scope: scope === 'public' ? 'public' : 'principal',
    era: payload.era,
    at: Math.round(Date.now() - (now - storedAt)),
    until: Math.round(Date.now() + Math.max(0, staleAt - now)),
    text: payload.bytes().toString(),
  }
}

/** Checks the members that a change of the format could break. */
function isSaved(value: unknown): value is SavedList {
  return isObject(value) && LIST_METHODS.has(String(value.method)) && typeof value.text === 'string'
}

function restoreEntry(upstream: string, saved: SavedList, clock: Clock): CacheEntry {
  const { method, key, scope, era, at, until, text } = saved
  const now = clock.now()
  const payload = Payload.fromBytes(Buffer.from(text), era)
  const staleAt = now + Math.max(0, until - Date.now())
  // Restored lists are unconfirmed: send them as stale, so that clients do not cache them.
  payload.freshUntil = now
  return {
    ...{ upstream, method, target: '', key, scope, payload, hintUntil: now },
    bytes: CacheStore.cost(key, payload),
    storedAt: now - Math.max(0, Date.now() - at),
    ...{ staleAt, revalidateUntil: staleAt, isPortable: true, trust: 'doubtful', hits: 0 },
  }
}

/** Pause before a failed broadcast is repeated. */
const RETRY_MS = 1000

/** A purge: the owner's selection, or a tool rule's text. */
export type OutdatedAnswers =
  | { readonly params: Readonly<Record<string, unknown>> }
  | { readonly purge: string; readonly upstream?: string | undefined }

const ALL: OutdatedAnswers = { params: { all: true } }

/** Exchanges purges with other replicas. A replica that may have missed one purges everything. */
export class PeerCaches {
  readonly #topic: CountedTopic
  readonly #clock: Clock
  #cancelRetry: () => void = () => undefined

  constructor(store: SharedStore, clock: Clock, receive: (outdated: OutdatedAnswers) => void) {
    this.#clock = clock
    this.#topic = new CountedTopic({
      ...{ store, clock, topic: 'outdated' },
      onMessage: text => {
        const outdated = parseOutdated(text)
        if (outdated !== undefined) receive(outdated)
      },
      onGap: gap => {
        if (gap !== 'first') receive(ALL)
      },
    })
  }

  start(): void {
    this.#topic.start()
  }

  stop(): void {
    this.#cancelRetry()
    this.#topic.stop()
  }

  /** Broadcasts a purge. Rejects if that fails; everything is then purged once the store is back. */
  async broadcast(outdated: OutdatedAnswers): Promise<void> {
    try {
      await this.#topic.publish(JSON.stringify(outdated))
    } catch (error) {
      this.#retryLater()
      throw error
    }
  }

  #retryLater(): void {
    this.#cancelRetry()
    this.#cancelRetry = this.#clock.after(RETRY_MS, () => void this.broadcast(ALL).catch(() => undefined))
  }
}

function parseOutdated(text: string): OutdatedAnswers | undefined {
  const value: unknown = JSON.parse(text)
  const isWhole = isObject(value) && (isObject(value.params) || typeof value.purge === 'string')
  return isWhole ? (value as unknown as OutdatedAnswers) : undefined
}
