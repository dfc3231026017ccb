import type { JsonObject } from '../protocol/json/json.ts'
import type { EntryKind, Era } from '../protocol/methods.ts'
import type { Choices, Principal } from './exchange.ts'

/** Catalog list viewer. */
export interface CatalogView {
  readonly kind: EntryKind
  readonly principal: Principal
  readonly profile?: string | undefined
}

/** The viewer and the client program that reads the list. */
export interface ListingReader extends CatalogView {
  /** Name and version from the client, not verified. A modern client may change them with each request. */
  readonly client: { readonly name: string; readonly version: string }
  readonly capabilities: JsonObject
  readonly era: Era
  /** Parameters in the URL that opened the session. */
  readonly choices?: Choices | undefined
}

/** One upstream's instructions, before they are merged. */
export interface UpstreamInstructions {
  readonly upstream: string
  readonly text: string
}
