import { createHash } from 'node:crypto'
import type { Clock, Handles } from '../../src/plugin.ts'

/** Limits the result count, because small results cost memory too. */
const MAX_RESULTS = 20_000
/** Estimated overhead per result. */
const ENTRY_OVERHEAD_BYTES = 512
/** After this share of its lifetime, a repeated result gets a new handle. */
const RENEW_AFTER_SHARE = 0.5

/** Complete result, before it was cut. */
export interface StoredResult {
  readonly owner: string
  readonly bytes: Buffer
  /** Page size in bytes. */
  readonly page: number
  readonly handle: string
  /** Clock time in milliseconds. */
  readonly storedAt: number
}

export interface ResultStoreLimits {
  readonly bytes: number
  readonly share: number
  readonly forMs: number
}

/** Complete results of cut answers, by caller. Evicts the oldest, and those of a caller over its share first. */
export class ResultStore {
  /** Oldest first. */
  readonly #all = new Map<string, StoredResult>()
  readonly #byOwner = new Map<string, { bytes: number; readonly keys: Set<string> }>()
  readonly #clock: Clock
  #bounds: ResultStoreLimits
  #bytes = 0
  #isArmed = false

  constructor(clock: Clock, bounds: ResultStoreLimits) {
    this.#clock = clock
    this.#bounds = bounds
  }

  get size(): number {
    return this.#all.size
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Applies a new configuration's limits. */
  setLimits(bounds: ResultStoreLimits): void {
    this.#bounds = bounds
    this.#evict()
  }

  /** Stores a result and returns its handle; undefined if it exceeds the caller's share. */
  store(handles: Handles, owner: string, bytes: Buffer, page: number): string | undefined {
    if (bytes.length + ENTRY_OVERHEAD_BYTES > Math.min(this.#bounds.share, this.#bounds.bytes)) return undefined
    const now = this.#clock.now()
    // Identical results share an entry, so that a repeated call neither fills the store nor changes its answer.
    const key = createHash('sha256')
      .update(JSON.stringify([owner, page]))
      .update(bytes)
      .digest('base64url')
      .slice(0, 22)
    const before = this.#all.get(key)
    if (before !== undefined && now - before.storedAt < this.#bounds.forMs * RENEW_AFTER_SHARE) return before.handle
    this.#removeResult(key)
    const handle = handles.seal(key, owner, this.#bounds.forMs)
    // Copy, because the bytes may be a slice of a larger buffer.
    this.#addResult(key, { owner, bytes: Buffer.from(bytes), page, handle, storedAt: now })
    return handle
  }

  /** Finds a caller's result; undefined if expired, evicted or another caller's. */
  findResult(handles: Handles, owner: string, handle: string): StoredResult | undefined {
    const key = handles.open(handle, owner)
    const stored = key === undefined ? undefined : this.#all.get(key)
    if (stored === undefined || stored.owner !== owner) return undefined
    return this.#clock.now() - stored.storedAt > this.#bounds.forMs ? undefined : stored
  }

  removeAll(): void {
    for (const key of [...this.#all.keys()]) this.#removeResult(key)
  }

  #addResult(key: string, result: StoredResult): void {
    const own = this.#byOwner.get(result.owner) ?? { bytes: 0, keys: new Set<string>() }
    this.#byOwner.set(result.owner, own)
    this.#all.set(key, result)
    own.keys.add(key)
    own.bytes += result.bytes.length + ENTRY_OVERHEAD_BYTES
    this.#bytes += result.bytes.length + ENTRY_OVERHEAD_BYTES
    for (const oldest of own.keys) {
      if (own.bytes <= this.#bounds.share) break
      this.#removeResult(oldest)
    }
    this.#evict()
    this.#armExpiry()
  }

  #evict(): void {
    for (const key of this.#all.keys()) {
      if (this.#bytes <= this.#bounds.bytes && this.#all.size <= MAX_RESULTS) return
      this.#removeResult(key)
    }
  }

  #removeResult(key: string): void {
    const result = this.#all.get(key)
    if (result === undefined) return
    this.#all.delete(key)
    this.#bytes -= result.bytes.length + ENTRY_OVERHEAD_BYTES
    const own = this.#byOwner.get(result.owner)
    if (own === undefined) return
    own.keys.delete(key)
    own.bytes -= result.bytes.length + ENTRY_OVERHEAD_BYTES
    if (own.keys.size === 0) this.#byOwner.delete(result.owner)
  }

  /** One timer for all results: the oldest expires first. */
  #armExpiry(): void {
    const [oldest] = this.#all.values()
    if (this.#isArmed || oldest === undefined) return
    this.#isArmed = true
    const ms = Math.max(1, oldest.storedAt + this.#bounds.forMs - this.#clock.now())
    this.#clock.after(ms, () => {
      this.#isArmed = false
      const now = this.#clock.now()
      for (const [key, { storedAt }] of this.#all) {
        if (now - storedAt < this.#bounds.forMs) break
        this.#removeResult(key)
      }
      this.#armExpiry()
    })
  }
}
