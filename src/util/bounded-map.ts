/** Map bounds. */
export interface BoundedMapOptions<K, V> {
  /** Maximum entries. */
  readonly max: number
  /** Maximum entries per caller; entries without a caller are not limited by it. */
  readonly share?: number
  /** Maximum total weight, for example in bytes. A heavier single entry is not stored. */
  readonly maxWeight?: number
  /** Maximum weight per caller. A heavier entry is evicted immediately. */
  readonly shareWeight?: number
  /** Called for each evicted entry; not for deleted or replaced ones. */
  readonly onForget?: (key: K, value: V) => void
}

interface BoundedEntry<V> {
  readonly value: V
  readonly caller: string | undefined
  readonly weight: number
}

interface CallerEntries<K> {
  readonly keys: Set<K>
  weight: number
}

/**
 * Map with bounds: evicts the entry that was set or used least recently. A caller that exceeds its share evicts only
 * its own entries.
 */
export class BoundedMap<K, V> {
  readonly #bounds: BoundedMapOptions<K, V>
  /** By age, oldest first. */
  readonly #entries = new Map<K, BoundedEntry<V>>()
  /** Keys per caller, oldest first. */
  readonly #byCaller = new Map<string, CallerEntries<K>>()
  #weight = 0

  constructor(bounds: BoundedMapOptions<K, V>) {
    this.#bounds = bounds
  }

  get size(): number {
    return this.#entries.size
  }

  /** Total weight. */
  get weight(): number {
    return this.#weight
  }

  /** Counts a caller's entries. */
  countEntries(caller: string): number {
    return this.#byCaller.get(caller)?.keys.size ?? 0
  }

  has(key: K): boolean {
    return this.#entries.has(key)
  }

  /** Returns the value without changing its age. */
  get(key: K): V | undefined {
    return this.#entries.get(key)?.value
  }

  /** Returns the value and makes it the newest: for LRU maps. */
  use(key: K): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    this.#entries.delete(key)
    this.#entries.set(key, entry)
    const own = entry.caller === undefined ? undefined : this.#byCaller.get(entry.caller)
    if (own?.keys.delete(key) === true) own.keys.add(key)
    return entry.value
  }

  /** Sets a value as the newest and evicts old ones if necessary. */
  set(key: K, value: V, caller?: string, weight = 1): void {
    const { max, maxWeight = Infinity } = this.#bounds
    this.delete(key)
    if (weight > maxWeight) return
    this.#entries.set(key, { value, caller, weight })
    this.#weight += weight
    if (caller !== undefined) this.#addToCaller(caller, key, weight)
    while (this.#entries.size > max || this.#weight > maxWeight) this.#forgetOldest(this.#entries)
  }

  delete(key: K): boolean {
    const entry = this.#entries.get(key)
    if (entry === undefined) return false
    this.#entries.delete(key)
    this.#weight -= entry.weight
    if (entry.caller === undefined) return true
    const own = this.#byCaller.get(entry.caller)
    if (own === undefined) return true
    own.keys.delete(key)
    own.weight -= entry.weight
    if (own.keys.size === 0) this.#byCaller.delete(entry.caller)
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

  /** Iterates the values, oldest first. */
  *values(): IterableIterator<V> {
    for (const { value } of this.#entries.values()) yield value
  }

  /** Iterates the entries, oldest first. */
  *entries(): IterableIterator<[K, V]> {
    for (const [key, { value }] of this.#entries) yield [key, value]
  }

  #addToCaller(caller: string, key: K, weight: number): void {
    const { share = Infinity, shareWeight = Infinity } = this.#bounds
    let own = this.#byCaller.get(caller)
    if (own === undefined) this.#byCaller.set(caller, (own = { keys: new Set(), weight: 0 }))
    own.keys.add(key)
    own.weight += weight
    while (own.keys.size > share || own.weight > shareWeight) this.#forgetOldest(own.keys)
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
