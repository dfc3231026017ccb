import type { JsonObject } from '../protocol/json/json.ts'
import type { Era, Kind } from '../protocol/methods.ts'
import type { Choices, Principal } from './exchange.ts'

/** Viewer for whom a list of the catalog is made. */
export interface CatalogView {
  readonly kind: Kind
  readonly principal: Principal
  /** The profile that the session was opened for. */
  readonly profile?: string | undefined
}

/** Viewer together with the program that reads the list for it. */
export interface ListingReader extends CatalogView {
  /** The program as it names itself, which is no identity. A modern client may name itself anew in each request. */
  readonly client: { readonly name: string; readonly version: string }
  readonly capabilities: JsonObject
  readonly era: Era
  /** Choices that it has made by parameters of its URL (`choice`). */
  readonly choices?: Choices | undefined
}

/** Instructions of one upstream for a model, before they are merged with those of others. */
export interface UpstreamInstructions {
  readonly upstream: string
  readonly text: string
}
