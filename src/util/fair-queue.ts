/** A queue in which callers take turns; what one caller has put in comes out in the order it went in. */
export class FairQueue<T> {
  readonly #lanes = new Map<string, Set<T>>()
  #size = 0

  get size(): number {
    return this.#size
  }

  add(caller: string, item: T): void {
    const lane = this.#lanes.get(caller)
    if (lane === undefined) this.#lanes.set(caller, new Set([item]))
    else lane.add(item)
    this.#size++
  }

  /** The item that is taken out next. */
  get next(): T | undefined {
    for (const lane of this.#lanes.values()) for (const item of lane) return item
    return undefined
  }

  /** Takes the next item out; its caller's others go behind those of everybody else. */
  take(): T | undefined {
    for (const [caller, lane] of this.#lanes) {
      this.#lanes.delete(caller)
      for (const item of lane) {
        lane.delete(item)
        this.#size--
        if (lane.size > 0) this.#lanes.set(caller, lane)
        return item
      }
    }
    return undefined
  }

  /** Takes one item out of turn; false when it is not there. */
  delete(caller: string, item: T): boolean {
    const lane = this.#lanes.get(caller)
    if (lane?.delete(item) !== true) return false
    this.#size--
    if (lane.size === 0) this.#lanes.delete(caller)
    return true
  }

  clear(): void {
    this.#lanes.clear()
    this.#size = 0
  }
}
