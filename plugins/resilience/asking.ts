/** Most calls of one caller: more than it can have that wait for it without a connection, as parked calls and as tasks. */
const MOST_EACH = 256

/** Counts the calls at one server whose clients are asked, for each caller. They take no turn, and each is an open request to the server. */
export class Asking {
  readonly #counts = new Map<string, number>()
  size = 0

  /** Counts one more; false where its caller has as many as it may. */
  enter(caller: string): boolean {
    const count = this.#counts.get(caller) ?? 0
    if (count >= MOST_EACH) return false
    this.#counts.set(caller, count + 1)
    this.size++
    return true
  }

  leave(caller: string): void {
    const left = (this.#counts.get(caller) ?? 1) - 1
    if (left === 0) this.#counts.delete(caller)
    else this.#counts.set(caller, left)
    this.size--
  }
}
