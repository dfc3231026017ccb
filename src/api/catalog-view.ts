import type { Kind } from '../protocol/methods.ts'
import type { Principal } from './exchange.ts'

/** Viewer for whom a list of the catalog is made. */
export interface CatalogView {
  readonly kind: Kind
  readonly principal: Principal
  /** The profile that the session was opened for. */
  readonly profile?: string | undefined
}

/** Instructions of one upstream for a model, before they are merged with those of others. */
export interface UpstreamInstructions {
  readonly upstream: string
  readonly text: string
}
