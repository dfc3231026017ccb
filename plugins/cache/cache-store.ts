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
