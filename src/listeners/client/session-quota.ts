import type { Principal } from '../../api/index.ts'
import { ANONYMOUS, principalKey } from '../../plugin.ts'

/** How many conversations each caller has, over every way to have one. Those whom nobody asked who they are may be many. */
export class Callers {
  /** Most of one caller; another after a reload. */
  max: number
  readonly #counts = new Map<string, number>()

  constructor(max: number) {
    this.max = max
  }

  isFull(principal: Principal): boolean {
    return (this.#counts.get(principalKey(principal)) ?? 0) >= this.max
  }

  /** One more conversation, or with −1 one less. */
  count(principal: Principal, change: 1 | -1): void {
    const key = principalKey(principal)
    if (key === principalKey(ANONYMOUS)) return
    const count = (this.#counts.get(key) ?? 0) + change
    if (count > 0) this.#counts.set(key, count)
    else this.#counts.delete(key)
  }
}
