import { ANONYMOUS, principalKey } from '../api/principal.ts'
import type { Session } from '../api/index.ts'

/** Counts the places of a table that each caller has. Anonymous callers count one by one, by their sessions. */
export class Shares {
  readonly #max: number
  readonly #counts = new Map<string, number>()

  constructor(max: number) {
    this.#max = max
  }

  isFull(session: Session): boolean {
    return (this.#counts.get(keyOf(session)) ?? 0) >= this.#max
  }

  /** One place more, or with −1 one less. */
  count(session: Session, change: 1 | -1): void {
    const key = keyOf(session)
    const count = (this.#counts.get(key) ?? 0) + change
    if (count > 0) this.#counts.set(key, count)
    else this.#counts.delete(key)
  }
}

function keyOf({ principal, id }: Session): string {
  const key = principalKey(principal)
  return key === principalKey(ANONYMOUS) ? `${key}#${id}` : key
}
