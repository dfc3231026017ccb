import type { Requirement } from '../requirements.ts'

const WHY = 'it is of Streamable HTTP in the legacy era, and asked of the gateway'

/** All that only the wire shows. */
export const TRANSPORTS: Readonly<Record<string, Requirement>> = {
  'transport.resume': {
    source: '2025-11-25 basic/transports#resumability-and-redelivery',
    behaviour: 'a client that lost its stream gets the rest of it by Last-Event-ID',
    client: 'legacy',
    route: 'gateway',
    transport: 'http',
    why: WHY,
  },
  'transport.batch': {
    source: '2025-03-26 basic#batching',
    behaviour: 'a batch of calls is answered whole',
    client: 'legacy',
    route: 'gateway',
    transport: 'http',
    why: WHY,
  },
}
