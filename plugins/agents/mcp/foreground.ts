/** Which tasks somebody holds a call open for, and nobody else has: they end with the last such call. */
export class Foreground {
  readonly #held = new Map<string, number>()
  readonly #enders = new Set<() => void>()

  /** A call waits for it. Returns the way to say that it does no more: whether the task has nobody left. */
  hold(task: string): () => boolean {
    this.#held.set(task, (this.#held.get(task) ?? 0) + 1)
    let isHeld = true
    return () => {
      const count = this.#held.get(task)
      if (!isHeld || count === undefined) return false
      isHeld = false
      if (count > 1) this.#held.set(task, count - 1)
      else this.#held.delete(task)
      return count === 1
    }
  }

  /** Hears that open calls must be answered now; returns the way to take it back. */
  onEnd(end: () => void): () => void {
    this.#enders.add(end)
    return () => void this.#enders.delete(end)
  }

  /** Every open call is answered, as far as its task is. */
  end(): void {
    for (const end of [...this.#enders]) end()
  }

  /** Its owner knows its id: it goes on, whatever becomes of the calls. */
  free(task: string): void {
    this.#held.delete(task)
  }
}
