import { type JsonObject, isObject } from '../protocol/json/json.ts'

import { LISTS, type Kind } from '../protocol/methods.ts'
import { canonicalOr, withSafeIcons } from '../protocol/uri.ts'
import type { Payload } from '../protocol/payload.ts'
import type { Principal } from './index.ts'

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
}

/** Viewer for whom a list of the catalog is made. */
export interface CatalogView {
  readonly kind: Kind
  readonly principal: Principal
  /** The profile that the session was opened for. */
  readonly profile?: string | undefined
}

/** Key by which an entry is looked up: a URI by its canonical form, whatever spelling its server lists. */
export function lookupName({ kind, exposed }: CatalogEntry): string {
  return kind === 'resources' ? canonicalOr(exposed) : exposed
}

/** True if clients mean this entry by a name, or by a URI in its canonical form. */
export function isCalled(entry: CatalogEntry, name: string): boolean {
  return entry.exposed === name || lookupName(entry) === name
}

/** The entries of one result, as this upstream's. What is no entry is passed over. */
export function entriesOf(payload: Payload, kind: Kind, upstream: string, prefix: string): CatalogEntry[] {
  const { member, key } = LISTS[kind]
  const list = payload.value()[member]
  if (!Array.isArray(list)) return []
  const entries: CatalogEntry[] = []
  for (const value of list as unknown[]) {
    if (!isObject(value) || typeof value[key] !== 'string') continue
    entries.push(entryOf(kind, upstream, value[key], prefix, withSafeIcons(value)))
  }
  return entries
}

/** An entry as it stands before any tap: tools and prompts carry their upstream's prefix, URIs are kept. */
export function entryOf(
  kind: Kind,
  upstream: string,
  original: string,
  prefix: string,
  value: JsonObject,
): CatalogEntry {
  const exposed = kind === 'tools' || kind === 'prompts' ? prefix + original : original
  return { kind, upstream, original, exposed, value }
}
