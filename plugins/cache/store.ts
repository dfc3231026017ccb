import type { Payload } from '../../src/plugin.ts'
import type { Counts } from './counters.ts'
import type { Selection, Subject } from './purge.ts'
import { Subjects } from './subjects.ts'

/**
 * Whether what was kept can still be taken for what the server would say: `known` it can; `doubtful` another process or
 * connection may say something else, so it is asked before the answer is used; `lost` the server is down.
 */
export type Trust = 'known' | 'doubtful' | 'lost'

/** One answer that is kept. Times are milliseconds of the clock. */
export interface Entry extends Subject {
  readonly key: string
  readonly scope: 'public' | 'principal' | 'session'
  /** As it goes out, but for what is put in anew each time. */
  readonly payload: Payload
  /** What the server's `_meta` held, where we add to it. */
  readonly meta: unknown
  /** Until when the server says it holds; undefined where it said nothing. */
  readonly hintUntil: number | undefined
  readonly bytes: number
  readonly storedAt: number
  readonly staleAt: number
  readonly revalidateUntil: number
  readonly errorUntil: number
  /** Nothing of the call but its list is in the key, so it may outlive this process. */
  readonly isPortable: boolean
  trust: Trust
  hits: number
}

/** Memory of an entry besides its text. */
const OVERHEAD = 512

/** What is kept, the least recently used first, within bounds. */
export class Store {
  readonly #entries = new Map<string, Entry>()
  readonly #subjects = new Subjects<Entry>()
  readonly #counts: Counts
  readonly maxEntries: number
  readonly maxBytes: number
  #bytes = 0

  constructor(bounds: { maxEntries: number; maxBytes: number }, counts: Counts) {
    this.maxEntries = bounds.maxEntries
    this.maxBytes = bounds.maxBytes
    this.#counts = counts
  }

  get size(): number {
    return this.#entries.size
  }

  get bytes(): number {
    return this.#bytes
  }

  /** What an answer of this size costs. */
  static cost(key: string, payload: Payload): number {
    return payload.bytes().length + 2 * key.length + OVERHEAD
  }

  /** An entry, which is the most recently used one from now on. */
  find(key: string): Entry | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    return entry
  }

  /** Keeps an entry in the place of the one with its key; false when it is too large. */
  keep(entry: Entry): boolean {
    this.drop(entry.key)
    if (entry.bytes > this.maxBytes) return false
    this.#entries.set(entry.key, entry)
    this.#subjects.add(entry)
    this.#count(entry, 1)
    for (const oldest of this.#entries.values()) {
      if (this.#entries.size <= this.maxEntries && this.#bytes <= this.maxBytes) break
      this.drop(oldest.key)
      this.#counts.of(oldest.upstream).evictions++
    }
    return true
  }

  drop(key: string): void {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#subjects.delete(entry)
    this.#count(entry, -1)
  }

  /** Entries by what they are about. */
  select(selection: Selection): Entry[] {
    return this.#subjects.find(selection)
  }

  /** Forgets what is meant, and says how much that was. */
  purge(selection: Selection): number {
    const entries = this.#subjects.find(selection)
    for (const entry of entries) {
      this.drop(entry.key)
      this.#counts.of(entry.upstream).purges++
    }
    return entries.length
  }

  #count({ upstream, bytes }: Entry, sign: 1 | -1): void {
    const counters = this.#counts.of(upstream)
    counters.entries += sign
    counters.bytes += sign * bytes
    this.#bytes += sign * bytes
  }
}
