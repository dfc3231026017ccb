import type { Payload } from '../../src/plugin.ts'
import { BoundedMap, compileForbiddenUris, compileGlobs } from '../../src/plugin.ts'

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
  /** The server's `_meta`, if members are added to it. */
  readonly meta: unknown
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
  readonly #subjects = new SubjectIndex<CacheEntry>()
  readonly #counts: CacheCounts
  readonly maxEntries: number
  readonly maxBytes: number

  constructor(bounds: { maxEntries: number; maxBytes: number }, counts: CacheCounts) {
    this.maxEntries = bounds.maxEntries
    this.maxBytes = bounds.maxBytes
    this.#counts = counts
    const onForget = (_key: string, entry: CacheEntry): void => {
      this.#forget(entry)
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

  /** Finds an entry without marking it as used. */
  peek(key: string): CacheEntry | undefined {
    return this.#entries.get(key)
  }

  /** Stores or replaces an entry; returns false if it is too large. */
  put(entry: CacheEntry): boolean {
    this.drop(entry.key)
    if (entry.bytes > this.maxBytes) return false
    this.#subjects.add(entry)
    this.#countBytes(entry, 1)
    this.#entries.set(entry.key, entry, undefined, entry.bytes)
    return true
  }

  drop(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#forget(entry)
  }

  /** Returns the selected entries. */
  select(selection: Selection): CacheEntry[] {
    return this.#subjects.find(selection)
  }

  /** Deletes the selected entries and returns their number. */
  purge(selection: Selection): number {
    const entries = this.#subjects.find(selection)
    for (const entry of entries) {
      this.drop(entry.key)
      this.#counts.getCounters(entry.upstream).purges++
    }
    return entries.length
  }

  #forget(entry: CacheEntry): void {
    this.#subjects.delete(entry)
    this.#countBytes(entry, -1)
  }

  #countBytes({ upstream, bytes }: CacheEntry, sign: 1 | -1): void {
    const counters = this.#counts.getCounters(upstream)
    counters.entries += sign
    counters.bytes += sign * bytes
  }
}

type Targets<T> = Map<string, Set<T>>

/** Indexes items by upstream, method, name and tag, for efficient purges. */
export class SubjectIndex<T extends CacheSubject> {
  readonly #byUpstream = new Map<string, Map<string, Targets<T>>>()
  readonly #byTag = new Map<string, Set<T>>()

  add(one: T): void {
    const methods = getOrCreate(this.#byUpstream, one.upstream, () => new Map<string, Targets<T>>())
    const targets = getOrCreate(methods, one.method, () => new Map<string, Set<T>>())
    getOrCreate(targets, one.target, () => new Set<T>()).add(one)
    for (const tag of one.tags) getOrCreate(this.#byTag, tag, () => new Set<T>()).add(one)
  }

  delete(one: T): void {
    const methods = this.#byUpstream.get(one.upstream)
    const targets = methods?.get(one.method)
    deleteMember(targets, one.target, one)
    if (targets?.size === 0) methods?.delete(one.method)
    if (methods?.size === 0) this.#byUpstream.delete(one.upstream)
    for (const tag of one.tags) deleteMember(this.#byTag, tag, one)
  }

  /** Returns the selected items in a new list. */
  find(selection: Selection): T[] {
    if (selection.tag !== undefined)
      return [...(this.#byTag.get(selection.tag) ?? [])].filter(one => isSelected(one, selection))
    return selectByKey(this.#byUpstream, selection.upstream).flatMap(([upstream, methods]) =>
      selectByKey(methods, selection.method).flatMap(([, targets]) => selectTargets(targets, upstream, selection)),
    )
  }
}

function selectTargets<T>(targets: Targets<T>, upstream: string, { target }: Selection): T[] {
  if (typeof target === 'string') return [...(targets.get(target) ?? [])]
  return [...targets].flatMap(([name, set]) => (target?.(name, upstream) === false ? [] : [...set]))
}

/** True if the item matches the selection. */
function isSelected(one: CacheSubject, { upstream, method, tag, target }: Selection): boolean {
  if (upstream !== undefined && upstream !== one.upstream) return false
  if (method !== undefined && method !== one.method) return false
  if (tag !== undefined && !one.tags.includes(tag)) return false
  if (typeof target === 'string') return target === one.target
  return target?.(one.target, one.upstream) ?? true
}

function selectByKey<V>(map: Map<string, V>, key: string | undefined): [string, V][] {
  if (key === undefined) return [...map]
  const value = map.get(key)
  return value === undefined ? [] : [[key, value]]
}

function getOrCreate<V>(map: Map<string, V>, key: string, make: () => V): V {
  let value = map.get(key)
  if (value === undefined) {
    value = make()
    map.set(key, value)
  }
  return value
}

function deleteMember<T>(map: Map<string, Set<T>> | undefined, key: string, one: T): void {
  const set = map?.get(key)
  set?.delete(one)
  if (set?.size === 0) map?.delete(key)
}

/** Properties by which an answer can be selected. */
export interface CacheSubject {
  readonly upstream: string
  readonly method: string
  /** Requested name or URI as the upstream knows it; empty for lists. */
  readonly target: string
  readonly tags: readonly string[]
}

/** Selection criteria, combined with AND; empty selects everything. */
export interface Selection {
  readonly upstream?: string | undefined
  readonly method?: string | undefined
  readonly tag?: string | undefined
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
 * Parses `get_*` (tools), `resource:<glob>`, `prompt:<glob>` or `tag:<tag>`. In an upstream's section, names are its
 * own and only its entries match; otherwise names are exposed ones and tags match everywhere.
 */
export function parsePurge(text: string, upstream: string | undefined): Purge {
  return { text, upstream, selection: parseSelector(text, upstream) }
}

function parseSelector(text: string, upstream: string | undefined): Purge['selection'] {
  const [, kind = 'tool', pattern = text] = /^(tag|prompt|resource):(.*)$/s.exec(text) ?? []
  if (kind === 'tag') return () => ({ tag: pattern })
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
