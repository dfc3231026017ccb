import type { LinkKeeper } from './supervisor.ts'

/** Links that were opened ahead, for clients to come. Each is given away once. */
export class WarmLinks {
  readonly #min: number
  readonly #make: (isWaiting: (keeper: LinkKeeper) => boolean) => LinkKeeper
  readonly #waiting = new Set<LinkKeeper>()

  constructor(min: number, make: (isWaiting: (keeper: LinkKeeper) => boolean) => LinkKeeper) {
    this.#min = min
    this.#make = make
  }

  get size(): number {
    return this.#waiting.size
  }

  get keepers(): readonly LinkKeeper[] {
    return [...this.#waiting]
  }

  /** Opens what is missing, as far as there is room for it. */
  fill(room: number): void {
    const missing = Math.min(this.#min - this.#waiting.size, room)
    for (let count = 0; count < missing; count++) {
      const keeper = this.#make(one => this.#waiting.has(one))
      this.#waiting.add(keeper)
      void keeper.start()
    }
  }

  /** One that is up, or else one that is on its way; it belongs to its taker from now on. */
  take(): LinkKeeper | undefined {
    const rank = ({ state }: LinkKeeper): number => (state === 'ready' ? 0 : state === 'starting' ? 1 : 2)
    const [best] = [...this.#waiting].sort((a, b) => rank(a) - rank(b))
    if (best !== undefined) this.#waiting.delete(best)
    return best
  }

  /** Gives all of them away, to be ended. */
  empty(): LinkKeeper[] {
    const all = [...this.#waiting]
    this.#waiting.clear()
    return all
  }
}
