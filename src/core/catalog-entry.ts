import type { JsonObject } from '../protocol/jsonrpc.ts'
import type { Kind } from '../protocol/methods.ts'
import type { Principal } from './ports.ts'

/** One thing that clients can see: a tool, prompt, resource or resource template. */
export interface CatalogEntry {
  readonly kind: Kind
  readonly upstream: string
  /** What the upstream calls it: a name, or a URI. */
  readonly original: string
  /** What clients call it. A `catalog` tap renames by returning a copy. */
  readonly exposed: string
  /** The entry as the upstream described it. Its name is replaced by `exposed` on the way out. */
  readonly value: JsonObject
}

/** Whose view of the catalog is made. */
export interface CatalogView {
  readonly kind: Kind
  readonly principal: Principal
}
