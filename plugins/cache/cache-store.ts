import type { Payload } from '../../src/plugin.ts'
import { BoundedMap, compileForbiddenUris, compileGlobs } from '../../src/plugin.ts'

const METHOD_OF: Readonly<Record<string, string>> = { prompt: 'prompts/get', resource: 'resources/read' }

/**
 * Trust in a kept answer, as what the server would say now: `known` it is good; `doubtful` another process or
 * connection may say something else, so it is asked before the answer is used; `lost` the server is down.
 */
type Trust = 'known' | 'doubtful' | 'lost'

/** One answer that is kept. Times are milliseconds of the clock. */
export interface CacheEntry extends CacheSubject {
  readonly key: string
  readonly scope: 'public' | 'principal' | 'session'
  /** As it goes out, but for what is put in anew each time. */
  readonly payload: Payload
  /** The server's own `_meta`, where we add to it. */
  readonly meta: unknown
  /** Until when the server says it holds; undefined where it said nothing. */
  readonly hintUntil: number | undefined
  readonly bytes: number
  readonly storedAt: number
  readonly staleAt: number
  readonly revalidateUntil: number
  /** Nothing of the call but its list is in the key, so it may outlive this process. */
  readonly isPortable: boolean
  trust: Trust
  hits: number
}

/** Memory of an entry besides its text. */
const OVERHEAD = 512

/** Kept answers, within bounds; the least recently used is dropped first. */
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

  /** Memory that an answer takes, in bytes. */
  static cost(key: string, payload: Payload): number {
    return payload.bytes().length + 2 * key.length + OVERHEAD
  }

  /** An entry, which is the most recently used one from now on. */
  find(key: string): CacheEntry | undefined {
    return this.#entries.use(key)
  }

  /** The same for somebody who only looks: it is not used by that. */
  peek(key: string): CacheEntry | undefined {
    return this.#entries.get(key)
  }

  /** Keeps an entry in the place of the one with its key; false when it is too large. */
  put(entry: CacheEntry): boolean {
    this.drop(entry.key)
    if (entry.bytes > this.maxBytes) return false
    this.#subjects.add(entry)
    this.#count(entry, 1)
    this.#entries.set(entry.key, entry, undefined, entry.bytes)
    return true
  }

  drop(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#forget(entry)
  }

  /** Entries by what they are about. */
  select(selection: Selection): CacheEntry[] {
    return this.#subjects.find(selection)
  }

  /** Forgets what is meant, and says how much that was. */
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
    this.#count(entry, -1)
  }

  #count({ upstream, bytes }: CacheEntry, sign: 1 | -1): void {
    const counters = this.#counts.getCounters(upstream)
    counters.entries += sign
    counters.bytes += sign * bytes
  }
}

type Targets<T> = Map<string, Set<T>>

/** Things by upstream, method, name and tag, so that a purge looks only at what it may concern. */
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

  /** All that a selection means, as a list of its own. */
  find(selection: Selection): T[] {
    if (selection.tag !== undefined)
      return [...(this.#byTag.get(selection.tag) ?? [])].filter(one => isSelected(one, selection))
    return selectByKey(this.#byUpstream, selection.upstream).flatMap(([upstream, methods]) =>
      selectByKey(methods, selection.method).flatMap(([, targets]) =>
        selectTargets(targets, upstream, selection),
      ),
    )
  }
}

function selectTargets<T>(targets: Targets<T>, upstream: string, { target }: Selection): T[] {
  if (typeof target === 'string') return [...(targets.get(target) ?? [])]
  return [...targets].flatMap(([name, set]) => (target?.(name, upstream) === false ? [] : [...set]))
}

/** True if a selection means this one. */
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

/** Subject of an answer: everything by which it can be named when it is to be forgotten. */
export interface CacheSubject {
  readonly upstream: string
  readonly method: string
  /** The name or URI asked for, as its server knows it; empty for lists. */
  readonly target: string
  readonly tags: readonly string[]
}

/** Selection of answers to forget. All that is given must hold; nothing given means everything. */
export interface Selection {
  readonly upstream?: string | undefined
  readonly method?: string | undefined
  readonly tag?: string | undefined
  /** A test for names and URIs, or the one that is meant. */
  readonly target?: string | ((target: string, upstream: string) => boolean) | undefined
}

/** Makes the selection that a tool's success makes stale, given what clients call the things of each upstream. */
export interface Purge {
  readonly text: string
  /** Upstream in whose section it stands. */
  readonly upstream: string | undefined
  selection(prefixOf: (upstream: string) => string): Selection
}

/**
 * Reads `get_*` (tools), `resource:<glob>`, `prompt:<glob>` or `tag:<tag>`. In an upstream's own section names are its
 * own and only its answers are meant; else they are what clients call them, and a tag is a tag anywhere.
 */
export function parsePurge(text: string, upstream: string | undefined): Purge {
  return { text, upstream, selection: parseSelector(text, upstream) }
}

function parseSelector(text: string, upstream: string | undefined): Purge['selection'] {
  const [, kind = 'tool', what = text] = /^(tag|prompt|resource):(.*)$/s.exec(text) ?? []
  if (kind === 'tag') return () => ({ tag: what })
  const method = METHOD_OF[kind] ?? 'tools/call'
  const isMeant = (kind === 'resource' ? compileForbiddenUris : compileGlobs)(what)
  if (upstream !== undefined) return () => ({ upstream, method, target: isMeant })
  if (kind === 'resource') return () => ({ method, target: isMeant })
  return prefixOf => ({ method, target: (name, owner) => isMeant(prefixOf(owner) + name) })
}

/** Counts of one upstream's calls, since this configuration began to run. */
export interface CacheCounters {
  /** Answered from memory while fresh. */
  hits: number
  /** Not in memory: answered by the server. */
  misses: number
  /** Answered from memory although it had grown old. */
  stale: number
  /** Answered by a call that was under way for somebody else. */
  coalesced: number
  /** Dropped because there was no room. */
  evictions: number
  /** Dropped because something said that they are out of date. */
  purges: number
  /** Kept now. */
  entries: number
  bytes: number
}

/** The counters of every upstream. */
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
