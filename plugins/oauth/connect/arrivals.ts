import { BoundedMap, type Clock } from '../../../src/plugin.ts'

const MAX_SEEN = 10_000
const WITHIN_MS = 60_000
const MOST = 10

interface Seen {
  count: number
  readonly since: number
}

/** Counts requests, so that nobody tries ids and codes at will: ten a minute for an address, for a link that is open, and for a browser that is known. */
export class Arrivals {
  readonly #clock: Clock
  readonly #seen = new BoundedMap<string, Seen>({ max: MAX_SEEN })

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** True where there is room for one more. */
  admit(who: string): boolean {
    const now = this.#clock.now()
    const known = this.#seen.get(who)
    const seen = known === undefined || now - known.since >= WITHIN_MS ? { count: 0, since: now } : known
    seen.count++
    if (seen !== known) this.#seen.set(who, seen)
    return seen.count <= MOST
  }
}
