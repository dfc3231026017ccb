import type { Payload } from '../../protocol/payload.ts'
import { type CatalogEntry } from '../../api/catalog-entry.ts'

/** One upstream's list, all pages. */
export interface Part {
  readonly upstream: string
  readonly payloads: readonly Payload[]
  readonly entries: readonly CatalogEntry[]
  /** As it was last known: the upstream is slow or away. */
  readonly isStale?: boolean
}

/** What an upstream lists that has nothing of a kind. */
export const EMPTY: Part = { upstream: '', payloads: [], entries: [] }

/** What a first list waits for, and how much longer it is worth waiting for. */
export interface LateList {
  readonly done: Promise<unknown>
  readonly leftMs: number
}
