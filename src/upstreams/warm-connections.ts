import type { Supervisor } from './supervisor.ts'

/** Connections that were opened ahead, for clients to come. Each is given away once. */
export class WarmConnections {
  readonly #min: number
  readonly #make: (isWaiting: (supervisor: Supervisor) => boolean) => Supervisor
  readonly #waiting = new Set<Supervisor>()

  constructor(min: number, make: (isWaiting: (supervisor: Supervisor) => boolean) => Supervisor) {
    this.#min = min
    this.#make = make
  }

  get size(): number {
    return this.#waiting.size
  }

  get supervisors(): readonly Supervisor[] {
    return [...this.#waiting]
  }

  /** Opens what is missing, as far as there is room for it. */
  fill(room: number): void {
    const missing = Math.min(this.#min - this.#waiting.size, room)
    for (let count = 0; count < missing; count++) {
      const supervisor = this.#make(one => this.#waiting.has(one))
      this.#waiting.add(supervisor)
      void supervisor.start()
    }
  }

  /** One that is up, or else one that is on its way; it belongs to its taker from now on. */
  take(): Supervisor | undefined {
    const rank = ({ state }: Supervisor): number => (state === 'ready' ? 0 : state === 'starting' ? 1 : 2)
    const [best] = [...this.#waiting].sort((a, b) => rank(a) - rank(b))
    if (best !== undefined) this.#waiting.delete(best)
    return best
  }

  /** Gives all of them away, to be ended. */
  empty(): Supervisor[] {
    const all = [...this.#waiting]
    this.#waiting.clear()
    return all
  }
}
