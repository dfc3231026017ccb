import type { Clock } from '../core/ports.ts'
import type { RpcId } from '../protocol/jsonrpc.ts'
import type { Habit } from './habits.ts'

/** How long a server may still speak of a call that was given up. */
const LINGER_MS = 2000
/** Cancelled calls that are told apart; the rest are one. */
const MAX_GHOSTS = 1000

interface Ghost {
  readonly habit: Habit
  readonly takeBack: () => void
}

/** Calls that were given up, while their server may not have noticed. A server that answers one after all is done with it. */
export class Ghosts {
  readonly #clock: Clock
  readonly #gone: () => void
  readonly #ghosts = new Map<RpcId, Ghost>()

  /** `gone` runs when one has had its time. */
  constructor(clock: Clock, gone: () => void) {
    this.#clock = clock
    this.#gone = gone
  }

  get size(): number {
    return this.#ghosts.size
  }

  get habits(): Habit[] {
    return [...this.#ghosts.values()].map(({ habit }) => habit)
  }

  add(id: RpcId, habit: Habit): void {
    const key = this.#ghosts.size < MAX_GHOSTS ? id : 'the rest'
    this.#ghosts.get(key)?.takeBack()
    this.#ghosts.set(key, { habit, takeBack: this.#clock.after(LINGER_MS, () => this.delete(key)) })
  }

  delete(id: RpcId): void {
    const ghost = this.#ghosts.get(id)
    if (ghost === undefined) return
    ghost.takeBack()
    this.#ghosts.delete(id)
    this.#gone()
  }

  clear(): void {
    for (const { takeBack } of this.#ghosts.values()) takeBack()
    this.#ghosts.clear()
    this.#gone()
  }
}
