import type { Clock, Neighbour, PeerProof } from '../../../api/index.ts'
import { HttpClient } from '../../../http-client/http-client.ts'
import type { HttpTransport } from '../../../http-client/port.ts'
import { BoundedMap } from '../../../util/bounded-map.ts'
import { inUrl } from '../listener-settings.ts'

const CONNECT_MS = 1000
const MAX_IDLE = 64
/** Processes with a client of their own; that of longest ago is made anew where it is still used. */
const MOST_CLIENTS = 256

interface Kept {
  readonly client: HttpTransport
  /** Certificate that its connections show. */
  readonly context: PeerProof['context'] | undefined
}

/** Clients of other processes, whose connections are kept open between requests. */
export class NeighbourClients {
  readonly #clock: Clock
  readonly #byAddress = new BoundedMap<string, Kept>({
    max: MOST_CLIENTS,
    onForget: (_, kept) => this.#retire(kept),
  })
  /** Those in use, and those that end with their last request. */
  readonly #clients = new Set<HttpTransport>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The client of a process; another one where certificates were renewed. */
  to({ address, tls }: Pick<Neighbour, 'address' | 'tls'>): HttpTransport {
    const name = 'socketPath' in address ? address.socketPath : `${address.host} ${address.port}`
    const known = this.#byAddress.get(name)
    if (known !== undefined && known.context === tls?.context) return known.client
    if (known !== undefined) this.#retire(known)
    const client = this.#open(address, tls)
    this.#clients.add(client)
    this.#byAddress.set(name, { client, context: tls?.context })
    return client
  }

  stop(): void {
    for (const client of this.#clients) void client.destroy()
  }

  #open(address: Neighbour['address'], proof: PeerProof | undefined): HttpTransport {
    // Each request has a client that waits for it, and those are bounded.
    const sizes = { clock: this.#clock, connections: Infinity, idle: MAX_IDLE, connectMs: CONNECT_MS }
    if ('socketPath' in address) return new HttpClient(new URL('http://localhost'), { ...sizes, ...address })
    const scheme = proof === undefined ? 'http' : 'https'
    return new HttpClient(new URL(`${scheme}://${inUrl(address.host)}:${address.port}`), { ...sizes, proof })
  }

  #retire({ client }: Kept): void {
    void client.close().then(() => this.#clients.delete(client))
  }
}
