import type { Payload } from '../../protocol/payload.ts'
import { type CatalogEntry } from '../../api/catalog-entry.ts'

/** One upstream's list, all pages. */
export interface Part {
  readonly upstream: string
  readonly payloads: readonly Payload[]
  readonly entries: readonly CatalogEntry[]
  /** As it was last known: the upstream is slow or away. */
  readonly isStale?: boolean
  /** Why it is not all that the upstream has. */
  readonly cut?: string
}

/** List of an upstream that has nothing of a kind. */
export const EMPTY: Part = { upstream: '', payloads: [], entries: [] }

/** A first list that is late: the promise to wait for, and the milliseconds that it is still worth waiting for. */
export interface LateList {
  readonly done: Promise<unknown>
  readonly leftMs: number
}
