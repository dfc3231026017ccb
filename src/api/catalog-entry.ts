import type { JsonObject } from '../protocol/json/json.ts'
import { isObject } from '../protocol/json/json.ts'
import type { Kind } from '../protocol/methods.ts'
import { LISTS } from '../protocol/methods.ts'
import { canonicalizeUri } from '../protocol/uri.ts'
import { repairEntry } from '../protocol/list-entry.ts'
import type { Payload } from '../protocol/payload.ts'
import type { RpcError } from '../protocol/rpc-error.ts'

/** One thing that clients can see: a tool, prompt, resource or resource template. */
export interface CatalogEntry {
  readonly kind: Kind
  readonly upstream: string
  /** Name or URI at its upstream. */
  readonly original: string
  /** Name or URI for clients. A `catalog` tap renames by returning a copy. */
  readonly exposed: string
  /** The entry as the upstream described it. Its name is replaced by `exposed` on the way out. */
  readonly value: JsonObject
  /** True if no list has it: somebody asked for it by its name, and `value` holds no more than that. */
  readonly isUnlisted?: true
  /**
   * Error for whoever asks for it. It is in no list, but its name stays its own. A `catalog` tap withholds an entry by
   * returning a copy with one; an entry that a tap leaves out is unknown instead.
   */
  readonly refusal?: RpcError
  /** Findings of plugins for those after them, such as `{ pin: 'same' }`. A `catalog` tap adds one by returning a copy. */
  readonly marks?: Readonly<Record<string, string>>
}

/** Key by which an entry is looked up: a URI by its canonical form, whatever spelling its server lists. */
export function getLookupKey({ kind, exposed }: CatalogEntry): string {
  return kind === 'resources' ? canonicalizeUri(exposed) : exposed
}

/** True if clients mean this entry by a name, or by a URI in its canonical form. */
export function hasName(entry: CatalogEntry, name: string): boolean {
  return entry.exposed === name || getLookupKey(entry) === name
}

/** One page of a server's list as strict clients can read it, with the names of all that they could not. */
export interface ListPage {
  readonly entries: CatalogEntry[]
  /** Entries that cannot be repaired, and why. */
  readonly withheld: readonly string[]
  /** Optional fields of a wrong type. */
  readonly dropped: readonly string[]
  /** Why there is no list in it at all. */
  readonly problem?: string
}

/** Reads the entries of one result, as this upstream's; an optional field that is wrong is left out, and an entry that has no name. */
export function readListPage(payload: Payload, kind: Kind, upstream: string, prefix: string): ListPage {
  const { member, key, method } = LISTS[kind]
  const list = payload.value()[member]
  const entries: CatalogEntry[] = []
  const withheld: string[] = []
  const dropped: string[] = []
  if (!Array.isArray(list))
    return { entries, withheld, dropped, problem: `${method} has no list "${member}"` }
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

/** Most characters of a server's own words in a label. */
const MAX_LABEL = 64

/** Names an entry that has no name: by what it has in place of one, or by its number. */
function formatLabel(value: unknown, index: number): string {
  const named = isObject(value) ? (value.name ?? value.title ?? value.uri) : value
  return typeof named === 'string' ? `"${named.slice(0, MAX_LABEL)}"` : `no. ${index + 1}`
}

/** An entry as it stands before any tap: tools and prompts carry their upstream's prefix, URIs are kept. */
export function createEntry(
  kind: Kind,
  upstream: string,
  original: string,
  prefix: string,
  value: JsonObject,
): CatalogEntry {
  const exposed = kind === 'tools' || kind === 'prompts' ? prefix + original : original
  return { kind, upstream, original, exposed, value }
}

/** An entry that no list has, for the taps to judge by its name. */
export function createUnlistedEntry(
  kind: Kind,
  upstream: string,
  original: string,
  prefix: string,
): CatalogEntry {
  const { key } = LISTS[kind]
  const value = key === 'name' ? { name: original } : { [key]: original, name: original }
  return { ...createEntry(kind, upstream, original, prefix, value), isUnlisted: true }
}

/** Tells whether a name can be that of a tool which a plugin puts into a list: a real tool of that name makes it longer. */
export function isOwnName(name: unknown, names: readonly string[]): name is string {
  return typeof name === 'string' && names.some(tail => name.endsWith(tail))
}

/** Names of a plugin's own tools beside these: as they are or, where a real tool has one of them, all behind a prefix. */
export function assignOwnNames<T extends string>(
  names: Readonly<Record<T, string>>,
  entries: readonly CatalogEntry[],
): Readonly<Record<T, string>> {
  const taken = new Set(entries.map(({ exposed }) => exposed))
  for (let round = 0; ; round++) {
    const prefix = round === 0 ? '' : `gateway${round === 1 ? '' : round}_`
    const all = Object.entries<string>(names).map(([key, name]) => [key, prefix + name] as const)
    if (!all.some(([, name]) => taken.has(name))) return Object.fromEntries(all) as Record<T, string>
  }
}
