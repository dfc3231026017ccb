import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import type { EntryKind, Kind } from '../protocol/methods.ts'
import { LISTS } from '../protocol/methods.ts'
import { canonicalizeUri } from '../protocol/uri.ts'
import { repairEntry } from '../protocol/list-entry.ts'
import type { Payload } from '../protocol/payload.ts'
import type { RpcError } from '../protocol/rpc-error.ts'

/** A tool, prompt, resource, resource template or skill. */
export interface CatalogEntry {
  readonly kind: EntryKind
  readonly upstream: string
  /** Name or URI at its upstream. */
  readonly original: string
  /** Name or URI for clients. A `catalog` tap renames by returning a copy. */
  readonly exposed: string
  /** The entry as the upstream described it; its name is replaced by `exposed` when it is sent. */
  readonly value: JsonObject
  /** True if a client requested an entry that no list has; `value` then holds the name only. */
  readonly isUnlisted?: true
  /**
   * Error for clients that use the entry. A `catalog` tap withholds an entry by returning a copy with a refusal: the
   * entry leaves all lists and keeps its name. An entry that a tap leaves out is unknown.
   */
  readonly refusal?: RpcError
  /** Notes for later taps, such as `{ pin: 'same' }`. A `catalog` tap adds one by returning a copy. */
  readonly marks?: Readonly<Record<string, string>>
}

/** Lookup key: canonical URI for resources, exposed name otherwise. */
export function getLookupKey({ kind, exposed }: CatalogEntry): string {
  return kind === 'resources' ? canonicalizeUri(exposed) : exposed
}

/** True if the name or canonical URI means this entry. */
export function hasName(entry: CatalogEntry, name: string): boolean {
  return entry.exposed === name || getLookupKey(entry) === name
}

/** One page of a server's list, repaired for strict clients. */
export interface ListPage {
  readonly entries: CatalogEntry[]
  /** Entries that cannot be repaired, with the reason. */
  readonly withheld: readonly string[]
  /** Optional fields that had a wrong type. */
  readonly dropped: readonly string[]
  /** Reason if the result has no list. */
  readonly problem?: string
}

/** Reads the entries of one list result. Drops invalid optional fields, and entries without a name. */
export function readListPage(payload: Payload, kind: Kind, upstream: string, prefix: string): ListPage {
  const { member, key, method } = LISTS[kind]
  const list = payload.value()[member]
  const entries: CatalogEntry[] = []
  const withheld: string[] = []
  const dropped: string[] = []
  if (!Array.isArray(list)) return { entries, withheld, dropped, problem: `${method} has no list "${member}"` }
  for (const [index, value] of (list as unknown[]).entries()) {
    const repaired = repairEntry(kind, value)
    if ('problem' in repaired) {
      withheld.push(`${formatLabel(value, index)} (${repaired.problem})`)
      continue
    }
    const { entry } = repaired
    const original = entry[key] as string
    entries.push(createEntry(kind, upstream, original, prefix, entry))
    for (const field of repaired.dropped) dropped.push(`"${original.slice(0, MAX_LABEL)}": ${field}`)
  }
  return { entries, withheld, dropped }
}

const MAX_LABEL = 64

/** Labels an entry that has no valid name: by title or URI, else by position. */
function formatLabel(value: unknown, index: number): string {
  const named = isObject(value) ? (value.name ?? value.title ?? value.uri) : value
  return typeof named === 'string' ? `"${named.slice(0, MAX_LABEL)}"` : `no. ${index + 1}`
}

/** Creates an entry before any tap: tools and prompts get the upstream's prefix, URIs stay unchanged. */
export function createEntry(
  kind: EntryKind,
  upstream: string,
  original: string,
  prefix: string,
  value: JsonObject,
): CatalogEntry {
  const exposed = kind === 'tools' || kind === 'prompts' ? prefix + original : original
  return { kind, upstream, original, exposed, value }
}

/** Creates an unlisted entry, for taps that decide by name. */
export function createUnlistedEntry(kind: EntryKind, upstream: string, original: string, prefix: string): CatalogEntry {
  const { key } = LISTS[kind]
  const value = key === 'name' ? { name: original } : { [key]: original, name: original }
  return { ...createEntry(kind, upstream, original, prefix, value), isUnlisted: true }
}

/** True if the name may be a plugin's tool; the tool gets a prefix if a server has a tool of that name. */
export function isOwnName(name: unknown, names: readonly string[]): name is string {
  return typeof name === 'string' && names.some(tail => name.endsWith(tail))
}

/** Assigns names to a plugin's tools; all get a prefix if a server has one of the names. */
export function assignOwnNames<T extends string>(
  names: Readonly<Record<T, string>>,
  entries: readonly CatalogEntry[],
): Readonly<Record<T, string>> {
  const usedNames = new Set(entries.map(({ exposed }) => exposed))
  for (let round = 0; ; round++) {
    const prefix = round === 0 ? '' : `gateway${round === 1 ? '' : round}_`
    const all = Object.entries<string>(names).map(([key, name]) => [key, prefix + name] as const)
    if (!all.some(([, name]) => usedNames.has(name))) return Object.fromEntries(all) as Record<T, string>
  }
}
