import { EVENTS } from './requirements/events.ts'
import { REQUESTS } from './requirements/requests.ts'
import { TRANSPORTS } from './requirements/transports.ts'
import type { Cell } from './matrix/cells.ts'
import type { Offer } from './matrix/offers.ts'
import type { Era } from './matrix/peer.ts'
import type { Transport } from './matrix/ways.ts'

/** One behaviour that every cell it applies to must show. */
export interface Requirement {
  /** Revision and page of the specification it is from. */
  readonly source: string
  readonly behaviour: string
  /** Era of the client it holds for; both by default. */
  readonly client?: Era
  /** Says whether it is of the gateway alone. */
  readonly route?: Cell['route']
  /** The only transport of the client that has it. */
  readonly transport?: Transport
  /** All that the server must have for it. */
  readonly needs?: keyof Offer
  /** Why it is not asked of whom the limits above leave out. */
  readonly why?: string
}

/** Every requirement by its id. */
export const REQUIREMENTS: Readonly<Record<string, Requirement>> = {
  ...REQUESTS,
  ...EVENTS,
  ...TRANSPORTS,
}
