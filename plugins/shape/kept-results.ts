import { createHash } from 'node:crypto'
import type { Clock, Handles } from '../../src/plugin.ts'

/** Most results that are kept, whatever their size: a small one costs memory, too. */
const MAX_RESULTS = 20_000
/** Bytes that each costs beside its own. */
const OVERHEAD = 512
/** Part of its time after which a result that comes again gets a new handle. */
const AGED = 0.5

/** A whole result, as its server gave it and other plugins left it. */
export interface StoredResult {
  readonly owner: string
  readonly bytes: Buffer
  /** Bytes that a caller is given of it at a time. */
  readonly page: number
  readonly handle: string
  /** In milliseconds of the clock. */
  readonly keptAt: number
}

/** Bounds of what is kept. */
export interface KeepBounds {
  readonly bytes: number
  readonly share: number
  readonly forMs: number
}

/** Results that were cut, whole, for the callers that they are for. The oldest give way, each caller's to his own first. */
export class KeptResults {
  /** In the order of age. */
  readonly #all = new Map<string, StoredResult>()
  readonly #byOwner = new Map<string, { bytes: number; readonly keys: Set<string> }>()
  readonly #clock: Clock
  #bounds: KeepBounds
  #bytes = 0
  #isArmed = false

  constructor(clock: Clock, bounds: KeepBounds) {
    this.#clock = clock
    this.#bounds = bounds
  }

  get size(): number {
    return this.#all.size
  }

  get bytes(): number {
    return this.#bytes
  }

  /** A reload may bring other bounds; what is kept stays within them. */
  bound(bounds: KeepBounds): void {
    this.#bounds = bounds
    this.#giveWay()
  }

  /** Keeps a result and gives its handle; undefined for one that is larger than a caller's share. */
  keep(handles: Handles, owner: string, bytes: Buffer, page: number): string | undefined {
    if (bytes.length + OVERHEAD > Math.min(this.#bounds.share, this.#bounds.bytes)) return undefined
    const now = this.#clock.now()
    // The same result again is the same entry, so that a loop of one caller fills nothing, and an answer stays the same bytes.
    const key = createHash('sha256')
      .update(JSON.stringify([owner, page]))
      .update(bytes)
      .digest('base64url')
      .slice(0, 22)
    const before = this.#all.get(key)
    if (before !== undefined && now - before.keptAt < this.#bounds.forMs * AGED) return before.handle
    this.#forget(key)
    const handle = handles.seal(key, owner, this.#bounds.forMs)
    // A copy, as the bytes may be a part of a much larger buffer.
    this.#add(key, { owner, bytes: Buffer.from(bytes), page, handle, keptAt: now })
    return handle
  }

  /** The result that a caller has a handle of; undefined for another's, an old one, and one that gave way. */
  find(handles: Handles, owner: string, handle: string): StoredResult | undefined {
    const key = handles.open(handle, owner)
    const kept = key === undefined ? undefined : this.#all.get(key)
    if (kept === undefined || kept.owner !== owner) return undefined
    return this.#clock.now() - kept.keptAt > this.#bounds.forMs ? undefined : kept
  }

  clear(): void {
    for (const key of [...this.#all.keys()]) this.#forget(key)
  }

  #add(key: string, kept: StoredResult): void {
    const own = this.#byOwner.get(kept.owner) ?? { bytes: 0, keys: new Set<string>() }
    this.#byOwner.set(kept.owner, own)
    this.#all.set(key, kept)
    own.keys.add(key)
    own.bytes += kept.bytes.length + OVERHEAD
    this.#bytes += kept.bytes.length + OVERHEAD
    for (const oldest of own.keys) {
      if (own.bytes <= this.#bounds.share) break
      this.#forget(oldest)
    }
    this.#giveWay()
    this.#arm()
  }

  #giveWay(): void {
    for (const key of this.#all.keys()) {
      if (this.#bytes <= this.#bounds.bytes && this.#all.size <= MAX_RESULTS) return
      this.#forget(key)
    }
  }

  #forget(key: string): void {
    const kept = this.#all.get(key)
    if (kept === undefined) return
    this.#all.delete(key)
    this.#bytes -= kept.bytes.length + OVERHEAD
    const own = this.#byOwner.get(kept.owner)
    if (own === undefined) return
    own.keys.delete(key)
    own.bytes -= kept.bytes.length + OVERHEAD
    if (own.keys.size === 0) this.#byOwner.delete(kept.owner)
  }

  /** One timer for all: the oldest is due first. */
  #arm(): void {
    const [oldest] = this.#all.values()
    if (this.#isArmed || oldest === undefined) return
    this.#isArmed = true
    const ms = Math.max(1, oldest.keptAt + this.#bounds.forMs - this.#clock.now())
    this.#clock.after(ms, () => {
      this.#isArmed = false
      const now = this.#clock.now()
      for (const [key, { keptAt }] of this.#all) {
        if (now - keptAt < this.#bounds.forMs) break
        this.#forget(key)
      }
      this.#arm()
    })
  }
}
