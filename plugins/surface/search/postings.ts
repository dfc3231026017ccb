/** Where terms stand, in flat lists: each place is a number for a tool and a field, in the order of the tools. */
export interface Postings {
  /** For each term the index of its first posting; that of the next term ends them. */
  readonly starts: Uint32Array
  readonly places: Uint32Array
  /** How often the term stands at the place. */
  readonly counts: Uint16Array
}

/** Collects postings as texts are read; terms are small numbers. */
export class PostingsList {
  readonly #terms: number[] = []
  readonly #places: number[] = []
  readonly #counts: number[] = []
  /** The last posting of each term. */
  readonly #last: number[] = []

  /** The first posting of the present place. */
  #first = 0
  #place = 0

  /** Begins the next place. */
  begin(place: number): void {
    this.#place = place
    this.#first = this.#terms.length
  }

  /** Different terms of the present place. */
  get length(): number {
    return this.#terms.length - this.#first
  }

  /** Notes a term that stands at the present place. */
  readonly add = (term: number): void => {
    const last = this.#last[term] ?? -1
    if (last >= this.#first) this.#counts[last] = (this.#counts[last] ?? 0) + 1
    else {
      this.#last[term] = this.#terms.push(term) - 1
      this.#places.push(this.#place)
      this.#counts.push(1)
    }
  }

  /** All of them, by term. */
  sorted(): Postings {
    const starts = new Uint32Array(this.#last.length + 1)
    for (const term of this.#terms) starts[term + 1] = (starts[term + 1] ?? 0) + 1
    for (let term = 1; term < starts.length; term++)
      starts[term] = (starts[term] ?? 0) + (starts[term - 1] ?? 0)
    const next = starts.slice()
    const places = new Uint32Array(this.#terms.length)
    const counts = new Uint16Array(this.#terms.length)
    for (const [posting, term] of this.#terms.entries()) {
      const at = next[term] ?? 0
      next[term] = at + 1
      places[at] = this.#places[posting] ?? 0
      counts[at] = this.#counts[posting] ?? 0
    }
    return { starts, places, counts }
  }
}
