import {
  type Clock,
  type Era,
  isObject,
  Payload,
  type Upstream,
  type UpstreamMemory,
} from '../../src/plugin.ts'
import { LIST_METHODS } from './entry.ts'
import { type Entry, Store } from './store.ts'

const PART = 'lists'

/** Lists of one upstream that are longer than this together are not saved, in bytes. */
const MAX_BYTES = 4 * 1024 * 1024

/** Lists that outlive this process, for every upstream that has a memory. */
export class ListMemory {
  readonly #lists: SavedLists
  readonly #memories = new Map<string, UpstreamMemory>()

  constructor(lists: SavedLists) {
    this.#lists = lists
    lists.onChange(upstream => this.save(upstream))
  }

  /** Puts the lists of an upstream back that were known before. */
  recall({ name, memory }: Upstream): void {
    if (memory === undefined) return
    this.#memories.set(name, memory)
    const saved = memory.read(PART)
    const lists = Array.isArray(saved) ? saved.map(list => listIn(name, list)) : []
    // Pages belong together: all, or none.
    if (lists.every(list => list !== undefined)) this.#lists.prime(lists)
  }

  /** A list came that was not known in these words. */
  changed(entry: Entry): void {
    this.#lists.changed(entry)
  }

  /** Brings what is saved of one upstream, or of all, up to date. */
  save(upstream?: string): void {
    for (const [name, memory] of this.#memories) {
      if (upstream !== undefined && upstream !== name) continue
      const lists = this.#lists.all(name)
      const size = lists.reduce((sum, { bytes }) => sum + bytes.length, 0)
      memory.write(PART, size > MAX_BYTES ? [] : lists.map(textOf))
    }
  }

  /** Drops all that outlives this process, of one upstream or of all; says of how many. */
  forget(upstream?: string): number {
    const meant = [...this.#memories].filter(([name]) => upstream === undefined || upstream === name)
    for (const [, memory] of meant) memory.forget()
    return meant.length
  }
}

/** As it is saved: times since 1970, as clocks of two processes have nothing in common. */
type Saved = Pick<SavedList, 'method' | 'key' | 'scope' | 'era'> & {
  readonly at: number
  readonly until: number
  readonly text: string
}

function textOf({ method, key, scope, era, ageMs, ttlMs, bytes }: SavedList): Saved {
  const now = Date.now()
  return { method, key, scope, era, at: now - ageMs, until: now + ttlMs, text: bytes.toString() }
}

function listIn(upstream: string, saved: unknown): SavedList | undefined {
  if (!isSaved(saved)) return undefined
  const { method, key, scope, era, at, until, text } = saved
  const now = Date.now()
  const ageMs = Math.max(0, now - at)
  const ttlMs = Math.max(0, until - now)
  return { upstream, method, key, scope, era, ageMs, ttlMs, bytes: Buffer.from(text) }
}

function isSaved(value: unknown): value is Saved {
  if (!isObject(value)) return false
  const { method, key, scope, era, at, until, text } = value
  return (
    [method, key, text].every(one => typeof one === 'string') &&
    [at, until].every(one => typeof one === 'number') &&
    LIST_METHODS.has(String(method)) &&
    (scope === 'public' || scope === 'principal') &&
    (era === 'modern' || era === 'legacy')
  )
}

/**
 * One list as plain data, for a memory that outlives this process. Only lists that are public, or were asked for by
 * nobody in particular, are ever handed out.
 */
interface SavedList {
  readonly upstream: string
  readonly method: string
  /** Key of the list: opaque, and the same in every process. */
  readonly key: string
  readonly scope: 'public' | 'principal'
  readonly era: Era | undefined
  /** Milliseconds since the server said so. */
  readonly ageMs: number
  /** Milliseconds for which it is fresh; 0 when it has grown old. */
  readonly ttlMs: number
  /** The result as the server wrote it. */
  readonly bytes: Buffer
}

/** Lists on their way out of this process and back in. */
export class SavedLists {
  readonly #store: Store
  readonly #clock: Clock
  readonly #listeners = new Set<(upstream: string) => void>()

  constructor(store: Store, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /** Entries that may be saved, of one upstream or of all. */
  all(upstream?: string): SavedList[] {
    const now = this.#clock.now()
    return this.#store
      .select({ upstream })
      .filter(({ isPortable }) => isPortable)
      .map(entry => ({
        upstream: entry.upstream,
        method: entry.method,
        key: entry.key,
        scope: entry.scope === 'public' ? 'public' : 'principal',
        era: entry.payload.era,
        ageMs: Math.round(now - entry.storedAt),
        ttlMs: Math.max(0, Math.round(entry.staleAt - now)),
        bytes: entry.payload.bytes(),
      }))
  }

  /**
   * Puts lists back, where nothing newer is known. They are shown while their server sleeps or starts; once it runs it
   * is asked again before they are used.
   */
  prime(lists: readonly SavedList[]): void {
    for (const list of lists)
      if (this.#store.find(list.key) === undefined) this.#store.keep(this.#entryOf(list))
  }

  /** Calls `listener` with the upstream of which a list is another one now; returns the way to stop. */
  onChange(listener: (upstream: string) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** A list came that was not known in these words. */
  changed({ upstream, isPortable }: Entry): void {
    if (isPortable) for (const listener of this.#listeners) listener(upstream)
  }

  #entryOf({ upstream, method, key, scope, era, ageMs, ttlMs, bytes }: SavedList): Entry {
    const now = this.#clock.now()
    const payload = Payload.raw(bytes, era)
    const staleAt = now + ttlMs
    // A saved list is not confirmed yet, so it goes out as stale: clients must not keep it.
    payload.freshUntil = now
    return {
      upstream,
      method,
      target: '',
      tags: [],
      key,
      scope,
      payload,
      meta: undefined,
      hintUntil: now,
      bytes: Store.cost(key, payload),
      storedAt: now - ageMs,
      staleAt,
      revalidateUntil: staleAt,
      errorUntil: 0,
      isPortable: true,
      trust: 'doubtful',
      hits: 0,
    }
  }
}
