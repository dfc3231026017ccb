import { randomBytes } from 'node:crypto'
import type { SharedStore } from '../../../src/plugin.ts'

/** Uses of a name: one that was made for another use is none. */
type Use = 'link' | 'person' | 'state'

interface PlacesHost {
  readonly shared?: SharedStore | undefined
  place(): string | undefined
}

/**
 * Names of what begins at one of several replicas, which say at which: the page of a login is asked of any, and answered by the one
 * that has the link and the browser. Nobody else can make one, so that nobody is asked for a name that was guessed.
 */
export class Places {
  readonly #host: PlacesHost
  /** A replica that had to take another name still has what it began under the old one. */
  readonly #own = new Set<string>()

  constructor(host: PlacesHost) {
    this.#host = host
  }

  /** Ends the names of cookies, as each replica knows its own browsers. */
  readonly suffix = randomBytes(4).toString('hex')

  newName(use: Use): string {
    const random = randomBytes(16).toString('base64url')
    const { shared } = this.#host
    const place = this.#host.place()
    if (shared === undefined || place === undefined) return random
    this.#own.add(place)
    return shared.seal(`${place} ${random}`, use)
  }

  /** The replica that made a name; undefined for one of this replica, and for what none has made. */
  elsewhere(use: Use, name: string): string | undefined {
    const [place, random] = this.#host.shared?.open(name, use)?.split(' ') ?? []
    return place === undefined || random === undefined || this.#own.has(place) ? undefined : place
  }
}
