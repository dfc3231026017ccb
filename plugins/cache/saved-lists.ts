import { Payload, type Clock, type Era } from '../../src/plugin.ts'
import { Store, type Entry } from './store.ts'

/**
 * One list as plain data, for a memory that outlives this process. Only lists that are public, or were asked for by
 * nobody in particular, are ever handed out.
 */
export interface SavedList {
  readonly upstream: string
  readonly method: string
  /** Where it belongs: opaque, and the same in every process. */
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

  /** What may be saved, of one upstream or of all. */
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

  /** Calls `listener` with the upstream of which a list is another one now; returns the way to take it back. */
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
    // Nobody has confirmed it yet, so nobody is told to keep it.
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
