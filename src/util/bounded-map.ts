/** Bounds of a map, and what it does with what it must let go. */
export interface BoundedMapOptions<K, V> {
  /** Most entries at a time. */
  readonly max: number
  /** Most entries of one caller; those set without a caller have no share. */
  readonly share?: number
  /** Most weight at a time, such as bytes. What is heavier alone is not kept. */
  readonly maxWeight?: number
  /** Gets each entry that was pushed out; not one that was deleted or replaced. */
  readonly onForget?: (key: K, value: V) => void
}

interface BoundedEntry<V> {
  readonly value: V
  readonly caller: string | undefined
  readonly weight: number
}

/**
 * A map that never grows beyond its bounds: it forgets the entry that was set, or used, longest ago. A caller that has
 * its share pushes out its own entries, and nobody else's.
 */
export class BoundedMap<K, V> {
  readonly #bounds: BoundedMapOptions<K, V>
  /** In the order of age, the oldest first. */
  readonly #entries = new Map<K, BoundedEntry<V>>()
  /** The same order for each caller. */
  readonly #byCaller = new Map<string, Set<K>>()
  #weight = 0

  constructor(bounds: BoundedMapOptions<K, V>) {
    this.#bounds = bounds
  }

  get size(): number {
    return this.#entries.size
  }

  /** The weight of all entries. */
  get weight(): number {
    return this.#weight
  }

  /** Number of a caller's entries. */
  countEntries(caller: string): number {
    return this.#byCaller.get(caller)?.size ?? 0
  }

  has(key: K): boolean {
    return this.#entries.has(key)
  }

  /** The value; its age stays. */
  get(key: K): V | undefined {
    return this.#entries.get(key)?.value
  }

  /** The value, which is the youngest from here on: for maps that forget what was used longest ago. */
  use(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    const own = entry.caller === undefined ? undefined : this.#byCaller.get(entry.caller)
    if (own?.delete(key) === true) own.add(key)
    return entry.value
  }

  /** Sets a value, which is the youngest, and forgets as many old ones as are too many now. */
  set(key: K, value: V, caller?: string, weight = 1): void {
    const { max, share = Infinity, maxWeight = Infinity } = this.#bounds
    this.delete(key)
    if (weight > maxWeight) return
    this.#entries.set(key, { value, caller, weight })
    this.#weight += weight
    if (caller !== undefined && this.#own(caller, key).size > share)
      this.#forgetOldest(this.#own(caller, key))
    while (this.#entries.size > max || this.#weight > maxWeight) this.#forgetOldest(this.#entries)
  }

  delete(key: K): boolean {
    const entry = this.#entries.get(key)
    if (entry === undefined) return false
    this.#entries.delete(key)
    this.#weight -= entry.weight
    if (entry.caller === undefined) return true
    const getCallerKeys = this.#byCaller.get(entry.caller)
    getCallerKeys?.delete(key)
    if (getCallerKeys?.size === 0) this.#byCaller.delete(entry.caller)
    return true
  }

  clear(): void {
    this.#entries.clear()
    this.#byCaller.clear()
    this.#weight = 0
  }

  keys(): IterableIterator<K> {
    return this.#entries.keys()
  }

  /** The values, the oldest first. */
  *values(): IterableIterator<V> {
    for (const { value } of this.#entries.values()) yield value
  }

  /** Keys and values, the oldest first. */
  *entries(): IterableIterator<[K, V]> {
    for (const [key, { value }] of this.#entries) yield [key, value]
  }

  #own(caller: string, key: K): Set<K> {
    let own = this.#byCaller.get(caller)
    if (own === undefined) this.#byCaller.set(caller, (own = new Set()))
    return own.add(key)
  }

  #forgetOldest(among: ReadonlyMap<K, unknown> | ReadonlySet<K>): void {
    for (const key of among.keys()) {
      const entry = this.#entries.get(key)
      this.delete(key)
      if (entry !== undefined) this.#bounds.onForget?.(key, entry.value)
      return
    }
  }
}
