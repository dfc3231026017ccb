import type { Clock, Elsewhere, Inbound, Running, Session, Sought } from '../../api/index.ts'
import { placeOfWork } from '../../protocol/placed-ids.ts'
import { NeighbourClients } from '../http/hand-on/neighbour-clients.ts'
import { Errand } from './errand.ts'
import { Visit } from './visit.ts'

/** Requests whose effect is on the conversation that they come in. */
const OF_CONVERSATION: ReadonlySet<string> = new Set(['resources/subscribe', 'resources/unsubscribe'])

/** Has the process that keeps what a request goes on with run that request, and answers with what it says. */
export class WorkElsewhere implements Elsewhere {
  readonly #find: Required<Sought>['work']
  readonly #clients: NeighbourClients

  constructor(find: Required<Sought>['work'], clock: Clock) {
    this.#find = find
    this.#clients = new NeighbourClients(clock)
  }

  run(session: Session, inbound: Inbound, here: () => Running): Running | undefined {
    const place = wantedPlace(session, inbound)
    if (place === undefined) return undefined
    const found = this.#find(place)
    return found === 'here'
      ? undefined
      : new Errand({ session, inbound, here, clients: this.#clients }, found)
  }

  stop(): void {
    this.#clients.stop()
  }
}

/** The process that a request names; undefined where it does not leave this one. */
function wantedPlace({ client }: Session, inbound: Inbound): string | undefined {
  // Its listener has looked already, and handed it on as it came.
  if (inbound.via === 'http' && client.era === 'modern') return undefined
  // Nothing is handed on twice.
  if (inbound instanceof Visit || OF_CONVERSATION.has(inbound.method)) return undefined
  return placeOfWork(inbound.params)
}
