import { isObject, type Upstream, type UpstreamMemory } from '../../src/plugin.ts'
import { LIST_METHODS } from './entry.ts'
import type { Entry } from './store.ts'
import type { SavedList, SavedLists } from './saved-lists.ts'

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
