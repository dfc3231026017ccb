const MINUTE_MS = 60_000
/** Keys with a count; the least lately used one is forgotten first. */
const MOST_KEYS = 100_000
/** Instants that all keys of a rule remember together: 32 MiB. */
const MOST_INSTANTS = 4_000_000
const FIRST_SIZE = 8

/** The instants of the last minute, in a ring that grows as it must. */
class Instants {
  #ring = new Float64Array(FIRST_SIZE)
  #first = 0
  #count = 0

  get size(): number {
    return this.#ring.length
  }

  /** How many there were in the minute before `now`. */
  countAt(now: number): number {
    while (this.#count > 0 && this.oldest <= now - MINUTE_MS) {
      this.#first = (this.#first + 1) % this.#ring.length
      this.#count--
    }
    return this.#count
  }

  get oldest(): number {
    return this.#ring[this.#first] ?? 0
  }

  add(now: number): void {
    if (this.#count === this.#ring.length) this.#grow()
    this.#ring[(this.#first + this.#count++) % this.#ring.length] = now
  }

  #grow(): void {
    const larger = new Float64Array(this.#ring.length * 2)
    for (let at = 0; at < this.#count; at++)
      larger[at] = this.#ring[(this.#first + at) % this.#ring.length] ?? 0
    this.#ring = larger
    this.#first = 0
  }
}

/** Counts each key over the last 60 seconds, exactly, on a clock that does not jump. */
export class Windows {
  readonly #keys = new Map<string, Instants>()
  readonly #max: number
  #instants = 0

  constructor(max: number) {
    this.#max = max
  }

  get size(): number {
    return this.#keys.size
  }

  /** Milliseconds until there is room; 0 when there is. */
  wait(key: string, now: number): number {
    const instants = this.#keys.get(key)
    if (instants === undefined || instants.countAt(now) < this.#max) return 0
    return Math.max(1, Math.ceil(instants.oldest + MINUTE_MS - now))
  }

  take(key: string, now: number): void {
    let instants = this.#keys.get(key)
    if (instants === undefined) {
      instants = new Instants()
      this.#instants += instants.size
    } else this.#keys.delete(key)
    // Last in the order of the map is latest in use.
    this.#keys.set(key, instants)
    const before = instants.size
    instants.add(now)
    this.#instants += instants.size - before
    this.#forget()
  }

  #forget(): void {
    while (this.#keys.size > MOST_KEYS || (this.#instants > MOST_INSTANTS && this.#keys.size > 1)) {
      const [oldest] = this.#keys
      if (oldest === undefined) return
      this.#instants -= oldest[1].size
      this.#keys.delete(oldest[0])
    }
  }
}
