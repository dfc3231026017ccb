import type { Clock, Neighbour, PeerProof } from '../../../api/index.ts'
import { HttpClient } from '../../../http-client/http-client.ts'
import type { HttpTransport } from '../../../http-client/port.ts'
import { BoundedMap } from '../../../util/bounded-map.ts'
import { inUrl } from '../listener-settings.ts'

const CONNECT_MS = 1000
/** Processes with a road of their own; that of longest ago is made anew where it is still used. */
const MOST_ROADS = 256

interface Road {
  readonly client: HttpTransport
  /** Certificate that its connections show. */
  readonly context: PeerProof['context'] | undefined
}

/** Connections to other processes, kept open between requests. */
export class Roads {
  readonly #clock: Clock
  readonly #roads = new BoundedMap<string, Road>({
    max: MOST_ROADS,
    onForget: (_, road) => this.#retire(road),
  })
  /** Those in use, and those that end with their last request. */
  readonly #clients = new Set<HttpTransport>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The road to a process; another one where certificates were renewed. */
  to({ address, tls }: Pick<Neighbour, 'address' | 'tls'>): HttpTransport {
    const name = 'socketPath' in address ? address.socketPath : `${address.host} ${address.port}`
    const known = this.#roads.get(name)
    if (known !== undefined && known.context === tls?.context) return known.client
    if (known !== undefined) this.#retire(known)
    const client = this.#open(address, tls)
    this.#clients.add(client)
    this.#roads.set(name, { client, context: tls?.context })
    return client
  }

  stop(): void {
    for (const client of this.#clients) void client.destroy()
  }

  #open(address: Neighbour['address'], proof: PeerProof | undefined): HttpTransport {
    // Each request has a client that waits for it, and those are bounded.
    const sizes = { clock: this.#clock, connections: Infinity, connectMs: CONNECT_MS }
    if ('socketPath' in address) return new HttpClient(new URL('http://localhost'), { ...sizes, ...address })
    const scheme = proof === undefined ? 'http' : 'https'
    return new HttpClient(new URL(`${scheme}://${inUrl(address.host)}:${address.port}`), { ...sizes, proof })
  }

  #retire({ client }: Road): void {
    void client.close().then(() => this.#clients.delete(client))
  }
}
