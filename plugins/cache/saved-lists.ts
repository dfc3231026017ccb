import type { Clock, Era, Upstream, UpstreamMemory } from '../../src/plugin.ts'
import { isObject, Payload } from '../../src/plugin.ts'
import { LIST_METHODS } from './entry.ts'
import type { CacheEntry } from './cache-store.ts'
import { CacheStore } from './cache-store.ts'

const PART = 'lists'

/** Lists of one upstream that are longer than this together are not saved. */
const MAX_BYTES = 4 * 1024 * 1024

/** Saves lists for the next process, for every upstream that has a memory: only those that are nobody's in particular. */
export class SavedLists {
  readonly #store: CacheStore
  readonly #clock: Clock
  readonly #memories = new Map<string, UpstreamMemory>()

  constructor(store: CacheStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
  }

  /**
   * Restores the saved lists of an upstream. They are shown while its server sleeps or starts; once it runs it is asked
   * before they are used.
   */
  restore({ name, memory }: Upstream): void {
    if (memory === undefined) return
    this.#memories.set(name, memory)
    const saved = memory.read(PART)
    const lists: unknown[] = Array.isArray(saved) ? saved : []
    // Pages belong together: all, or none.
    if (!lists.every(isSaved)) return
    for (const list of lists)
      if (this.#store.find(list.key) === undefined) this.#store.put(restoreEntry(name, list, this.#clock))
  }

  /** Saves the lists of the upstream of a changed one. */
  noteChange({ upstream, isPortable }: CacheEntry): void {
    if (isPortable) this.save(upstream)
  }

  /** Saves the lists of one upstream, or of all. */
  save(upstream?: string): void {
    const now = this.#clock.now()
    for (const [name, memory] of this.#memories) {
      if (upstream !== undefined && upstream !== name) continue
      const lists = this.#store.select({ upstream: name }).filter(({ isPortable }) => isPortable)
      const size = lists.reduce((sum, { payload }) => sum + payload.bytes().length, 0)
      memory.write(PART, size > MAX_BYTES ? [] : lists.map(entry => formatSaved(entry, now)))
    }
  }

  /** Drops what is saved of one upstream, or of all; returns of how many. */
  forget(upstream?: string): number {
    const chosen = [...this.#memories].filter(([name]) => upstream === undefined || upstream === name)
    for (const [, memory] of chosen) memory.forget()
    return chosen.length
  }
}

/** A list as it is saved. Times are since 1970, as the clocks of two processes differ. */
interface SavedList {
  readonly method: string
  readonly key: string
  readonly scope: 'public' | 'principal'
  readonly era: Era | undefined
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

function isSaved(value: unknown): value is SavedList {
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

function restoreEntry(upstream: string, saved: SavedList, clock: Clock): CacheEntry {
  const { method, key, scope, era, at, until, text } = saved
  const now = clock.now()
  const payload = Payload.raw(Buffer.from(text), era)
  const staleAt = now + Math.max(0, until - Date.now())
  // A saved list is not confirmed yet, so it goes out as stale: clients must not keep it.
  payload.freshUntil = now
  return {
    ...{ upstream, method, target: '', tags: [], key, scope, payload, meta: undefined, hintUntil: now },
    bytes: CacheStore.cost(key, payload),
    storedAt: now - Math.max(0, Date.now() - at),
    ...{ staleAt, revalidateUntil: staleAt, isPortable: true, trust: 'doubtful', hits: 0 },
  }
}
