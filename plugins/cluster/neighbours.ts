import {
  type Neighbour,
  type Neighbours,
  type Refusal,
  RPC,
  type Sealing,
  type ServeHanded,
  type Whereabouts,
} from '../../src/plugin.ts'
import type { Directory, Known } from './directory.ts'
import type { KeyRing } from './key-ring.ts'
import type { ReplicaTls } from './tls.ts'
import type { Vouchers } from './vouchers.ts'

const LATER: Refusal = {
  status: 503,
  error: {
    code: RPC.internal,
    message: 'The replica that has the session cannot be found now; try again',
    data: { code: 'GW_CLUSTER_AWAY' },
  },
  headers: { 'retry-after': '1' },
}

interface ReplicasDeps {
  readonly ring: KeyRing
  readonly directory: Directory
  readonly vouchers: Vouchers
  readonly listeners: Map<string, ServeHanded>
  readonly tls: ReplicaTls | undefined
}

/** The other replicas, as listeners see them. */
export class Replicas implements Neighbours {
  /** Requests that were given to others. */
  handedOn = 0
  readonly #deps: ReplicasDeps

  constructor(deps: ReplicasDeps) {
    this.#deps = deps
  }

  get sealing(): Sealing {
    const { ring, directory } = this.#deps
    return {
      get keys() {
        return ring.of('seal')
      },
      place: directory.id,
    }
  }

  newId(): string {
    const { ring, directory } = this.#deps
    return ring.newId(`${directory.id}_`)
  }

  join(listener: string, serve: ServeHanded): void {
    this.#deps.listeners.set(listener, serve)
  }

  find(place: string, session?: string): Whereabouts | Promise<Whereabouts> {
    const { ring, directory } = this.#deps
    if (place === directory.id) return 'here'
    // Redis is not asked about a forged id.
    if (session !== undefined && !ring.isOurs(session)) return 'here'
    const known = directory.known(place)
    if (known !== undefined) return this.#neighbour(known)
    return directory.find(place).then(
      found => (found === undefined ? 'here' : this.#neighbour(found)),
      () => LATER,
    )
  }

  #neighbour({ entry, address, gone }: Known): Neighbour {
    const { directory, vouchers, tls } = this.#deps
    this.handedOn++
    return {
      ...{ address, gone, tls: tls?.options },
      voucher: (request, handed) => vouchers.write(request, handed, directory.id, entry.id),
    }
  }
}
