import type { LinkKeeper } from './supervisor.ts'

/** Equal processes of one server, of which one is the main one: lists and subscriptions are its business. */
export class Replicas {
  readonly #all: readonly LinkKeeper[]
  #turn = 0

  constructor(all: readonly LinkKeeper[]) {
    this.#all = all
  }

  /** The one with the fewest calls under way, and of equals the next in turn; undefined when none is up. */
  pick(): LinkKeeper | undefined {
    const count = this.#all.length
    const first = ++this.#turn % count
    let best: LinkKeeper | undefined
    let fewest = Infinity
    for (let step = 0; step < count; step++) {
      const keeper = this.#all[(first + step) % count]
      const calls = keeper?.link?.use.inFlight ?? Infinity
      if (calls >= fewest) continue
      fewest = calls
      best = keeper
    }
    return best
  }

  /** All but this one. */
  others(main: LinkKeeper): LinkKeeper[] {
    return this.#all.filter(keeper => keeper !== main)
  }
}
