import type { CatalogEntry, ListPage } from '../../api/catalog-entry.ts'
import { createUnlistedEntry } from '../../api/catalog-entry.ts'
import type { Upstream } from '../../api/index.ts'
import type { Kind } from '../../protocol/methods.ts'
import type { Payload } from '../../protocol/payload.ts'
import { getLiveUpstream } from '../upstream.ts'

const MEMORY_KEY = 'unlisted'

/** List methods that upstreams lack. Outlives a configuration. */
export class UnlistedMethods {
  readonly #methods = new WeakMap<Upstream, Set<string>>()

  /**
   * Tells whether an upstream that does not run is known to lack a list method, though its capabilities suggest one: many
   * have resources, and no templates. Once it runs it is asked.
   */
  has(upstream: Upstream, method: string): boolean {
    const isAsleep = upstream.state === 'idle' || upstream.state === 'starting'
    return isAsleep && this.#getMethods(upstream).has(method)
  }

  /** Notes whether an upstream knows a list method. */
  note(upstream: Upstream, method: string, isListed: boolean): void {
    const methods = this.#getMethods(upstream)
    if (methods.has(method) !== isListed) return
    if (isListed) methods.delete(method)
    else methods.add(method)
    upstream.memory?.write(MEMORY_KEY, [...methods])
  }

  #getMethods(upstream: Upstream): Set<string> {
    const live = getLiveUpstream(upstream)
    let methods = this.#methods.get(live)
    if (methods === undefined) {
      const saved = upstream.memory?.read(MEMORY_KEY)
      methods = new Set(Array.isArray(saved) ? saved.filter(one => typeof one === 'string') : [])
      this.#methods.set(live, methods)
    }
    return methods
  }
}

/** One upstream's list, all pages. */
export interface UpstreamList {
  readonly upstream: string
  readonly payloads: readonly Payload[]
  readonly entries: readonly CatalogEntry[]
  /** Hash of the list; empty for none. */
  readonly digest: string
  /** True for the last known list of a slow or absent upstream. */
  readonly isStale?: boolean
  /** Reason for truncation. */
  readonly cut?: string
  /** Reason why malformed entries are withheld. */
  readonly malformed?: string
  /** Fields that were dropped, as they are malformed. */
  readonly dropped?: readonly string[]
}

/** List of an upstream that has nothing of a kind. */
export const EMPTY_LIST: UpstreamList = { upstream: '', payloads: [], entries: [], digest: '' }

/** A first list that is late: the promise to wait for, and the milliseconds that it is still worth waiting for. */
export interface LateList {
  readonly done: Promise<unknown>
  readonly leftMs: number
}

/** Limits of a merged list: entries, and bytes as received. */
const MAX_MERGED = { entries: 40_000, bytes: 64 * 1024 * 1024 }

/** Upstream list that is truncated in the merged one. */
export interface TruncatedList {
  readonly upstream: string
  readonly kept: number
  readonly of: number
}

interface MergedList {
  readonly entries: readonly CatalogEntry[]
  readonly cuts: readonly TruncatedList[]
}

/** Merges the lists in declaration order. Over the limit, the longest are truncated to equal shares. */
export function mergeLists(parts: readonly UpstreamList[], most = MAX_MERGED): MergedList {
  const lengths = parts.map(({ entries }) => entries.length)
  const sizes = parts.map(({ payloads }) =>
    payloads.reduce((all, payload) => all + payload.bytes().length, 0),
  )
  if (sum(lengths) <= most.entries && sum(sizes) <= most.bytes)
    return { entries: parts.flatMap(({ entries }) => entries), cuts: [] }
  const entriesEach = computeFairShare(lengths, most.entries)
  const bytesEach = computeFairShare(sizes, most.bytes)
  const kept = parts.map(({ upstream, entries }, index) => {
    const size = sizes[index] ?? 0
    const fitting = size <= bytesEach ? entries.length : Math.floor((entries.length * bytesEach) / size)
    return { upstream, kept: Math.min(entriesEach, fitting), of: entries.length }
  })
  return {
    entries: parts.flatMap(({ entries }, index) => entries.slice(0, kept[index]?.kept)),
    cuts: kept.filter(cut => cut.kept < cut.of),
  }
}

/** Computes the equal share of a total; unused shares go to larger requests. */
function computeFairShare(wanted: readonly number[], total: number): number {
  const rising = [...wanted].sort((a, b) => a - b)
  let left = total
  for (const [index, want] of rising.entries()) {
    const share = Math.floor(left / (rising.length - index))
    if (want > share) return share
    left -= want
  }
  return Infinity
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0)
}

/** The entry that an upstream whose list is missing may have: a name without prefix may belong to any upstream that has none; a URI says more of itself. */
export function guessEntries(
  { upstream, prefix }: { readonly upstream: Upstream; readonly prefix: string },
  kind: Kind,
  name: string,
): CatalogEntry[] {
  const isNamed = kind === 'tools' || kind === 'prompts'
  return prefix === '' && isNamed ? [createUnlistedEntry(kind, upstream.name, name, prefix)] : []
}

/** Entries and fields that a message names, of those that are withheld or dropped. */
const MAX_NAMED = 5

/** Why entries of a list are withheld, or there is none; undefined if all are well. */
export function describeMalformed(pages: readonly ListPage[]): string | undefined {
  const problem = pages.find(page => page.problem !== undefined)?.problem
  const withheld = pages.flatMap(page => page.withheld)
  if (withheld.length === 0) return problem
  const names = `withheld: ${summarizeNames(withheld)}`
  return problem === undefined ? names : `${problem}; ${names}`
}

export function summarizeNames(all: readonly string[]): string {
  const named = all.slice(0, MAX_NAMED).join(', ')
  return all.length > MAX_NAMED ? `${named} and ${all.length - MAX_NAMED} more` : named
}
