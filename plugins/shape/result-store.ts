import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { Clock, PluginApi } from '../../src/plugin.ts'
import { BoundedMap } from '../../src/plugin.ts'

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
  readonly #clock: Clock
  #limits: ResultStoreLimits
  #results: BoundedMap<string, StoredResult>

  constructor(clock: Clock, limits: ResultStoreLimits) {
    this.#clock = clock
    this.#limits = limits
    this.#results = createResultMap(limits)
  }

  get size(): number {
    return this.#results.size
  }

  get bytes(): number {
    return this.#results.weight
  }

  /** Applies a new configuration's limits. */
  setLimits(limits: ResultStoreLimits): void {
    if (isDeepStrictEqual(limits, this.#limits)) return
    const before = this.#results
    this.#limits = limits
    this.#results = createResultMap(limits)
    for (const [key, result] of before.entries()) this.#addResult(key, result)
  }

  /** Stores a result and returns its handle; undefined if it exceeds the caller's share. */
  store(handles: PluginApi['handles'], owner: string, bytes: Buffer, page: number): string | undefined {
    const { bytes: maxBytes, share, forMs } = this.#limits
    if (bytes.length + ENTRY_OVERHEAD_BYTES > Math.min(share, maxBytes)) return undefined
    const now = this.#clock.now()
    // Identical results share an entry, so that a repeated call neither fills the store nor changes its answer.
    const key = createHash('sha256')
      .update(JSON.stringify([owner, page]))
      .update(bytes)
      .digest('base64url')
      .slice(0, 22)
    const before = this.#results.get(key)
    if (before !== undefined && now - before.storedAt < forMs * RENEW_AFTER_SHARE) return before.handle
    const handle = handles.seal(key, owner, forMs)
    // Copy, because the bytes may be a slice of a larger buffer.
    const result = { owner, bytes: Buffer.from(bytes), page, handle, storedAt: now }
    this.#addResult(key, result)
    this.#clock.after(forMs, () => {
      if (this.#results.get(key) === result) this.#results.delete(key)
    })
    return handle
  }

  /** Finds a caller's result; undefined if expired, evicted or another caller's. */
  findResult(handles: PluginApi['handles'], owner: string, handle: string): StoredResult | undefined {
    const key = handles.open(handle, owner)
    const stored = key === undefined ? undefined : this.#results.get(key)
    if (stored === undefined || stored.owner !== owner) return undefined
    return this.#clock.now() - stored.storedAt > this.#limits.forMs ? undefined : stored
  }

  #addResult(key: string, result: StoredResult): void {
    this.#results.set(key, result, result.owner, result.bytes.length + ENTRY_OVERHEAD_BYTES)
  }
}

function createResultMap({ bytes, share }: ResultStoreLimits): BoundedMap<string, StoredResult> {
  return new BoundedMap({ max: MAX_RESULTS, maxWeight: bytes, shareWeight: share })
}
