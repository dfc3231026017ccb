/** A queue in which callers take turns; what one caller has put in comes out in the order it went in. */
export class FairQueue<T> {
  readonly #queues = new Map<string, Set<T>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  add(caller: string, item: T): void {
    const own = this.#queues.get(caller)
    if (own === undefined) this.#queues.set(caller, new Set([item]))
    else own.add(item)
    this.#size++
  }

  /** The item that is taken out next. */
  get next(): T | undefined {
    for (const own of this.#queues.values()) for (const item of own) return item
    return undefined
  }

  /** Takes the next item out; its caller's others go behind those of everybody else. */
  take(): T | undefined {
    for (const [caller, own] of this.#queues) {
      this.#queues.delete(caller)
      for (const item of own) {
        own.delete(item)
        this.#size--
        if (own.size > 0) this.#queues.set(caller, own)
        return item
      }
    }
    return undefined
  }

  /** Takes one item out of turn; false when it is not there. */
  delete(caller: string, item: T): boolean {
    const own = this.#queues.get(caller)
    if (own?.delete(item) !== true) return false
    this.#size--
    if (own.size === 0) this.#queues.delete(caller)
    return true
  }

  clear(): void {
    this.#queues.clear()
    this.#size = 0
  }
}
