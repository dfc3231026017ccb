import type { Clock, Upstream } from '../../src/plugin.ts'
import { isObject, Payload } from '../../src/plugin.ts'
import { LIST_METHODS } from './upstream-cache.ts'
import type { CacheEntry } from './cache-store.ts'
import { CacheStore } from './cache-store.ts'

const PART = 'lists'

/** Size limit for an upstream's saved lists. */
const MAX_BYTES = 4 * 1024 * 1024

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
      memory.write(PART, size > MAX_BYTES ? [] : lists.map(entry => formatSaved(entry, now)))
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
