import type { Supervisor } from './supervisor.ts'

/** Equal processes of one server, of which one is the main one: lists and subscriptions are its business. */
export class Replicas {
  readonly #all: readonly Supervisor[]
  #turn = 0

  constructor(all: readonly Supervisor[]) {
    this.#all = all
  }

  /** The one with the fewest calls under way, and of equals the next in turn; undefined when none is up. */
  pick(): Supervisor | undefined {
    const count = this.#all.length
    const first = ++this.#turn % count
    let best: Supervisor | undefined
    let fewest = Infinity
    for (let step = 0; step < count; step++) {
      const supervisor = this.#all[(first + step) % count]
      const calls = supervisor?.connection?.use.inFlight ?? Infinity
      if (calls >= fewest) continue
      fewest = calls
      best = supervisor
    }
    return best
  }

  /** All but this one. */
  others(main: Supervisor): Supervisor[] {
    return this.#all.filter(supervisor => supervisor !== main)
  }
}
