type Listener = (reason: string) => void

/** A listener, and its neighbours in the order in which they came. */
interface Link {
  readonly run: Listener
  before: Link | undefined
  after: Link | undefined
  isIn: boolean
}

/** Listeners to one cancellation, in the order in which they came. Links instead of a table, as every call has one of them. */
export class CancelListeners {
  #first: Link | undefined
  #last: Link | undefined

  /** Adds a listener; returns the way to take it back. */
  add(run: Listener): () => void {
    const link: Link = { run, before: this.#last, after: undefined, isIn: true }
    if (this.#last === undefined) this.#first = link
    else this.#last.after = link
    this.#last = link
    return () => this.#delete(link)
  }

  #delete(link: Link): void {
    if (!link.isIn) return
    link.isIn = false
    const { before, after } = link
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
  }

  /** Runs all that are there now, each of them once, and leaves none. */
  run(reason: string): void {
    const all: Link[] = []
    for (let link = this.#first; link !== undefined; link = link.after) {
      link.isIn = false
      all.push(link)
    }
    this.#first = this.#last = undefined
    for (const link of all) link.run(reason)
  }
}
