interface Place<T> {
  readonly item: T
  readonly own: Own<T>
  before: Place<T> | undefined
  after: Place<T> | undefined
}

/** The items of one caller, first come first. */
interface Own<T> {
  readonly caller: string
  first: Place<T> | undefined
  last: Place<T> | undefined
  size: number
}

/** A queue in which callers take turns; items of one caller come out in the order they went in. An item is in it once. */
export class FairQueue<T> {
  /** In the order of their turns. */
  readonly #callers = new Map<string, Own<T>>()
  readonly #places = new Map<T, Place<T>>()

  get size(): number {
    return this.#places.size
  }

  /** Callers that have something in it, in the order of their turns. */
  get callers(): Iterable<string> {
    return this.#callers.keys()
  }

  /** The number of items of one caller. */
  sizeOf(caller: string): number {
    return this.#callers.get(caller)?.size ?? 0
  }

  get #nextCaller(): Own<T> | undefined {
    return this.#callers.values().next().value
  }

  add(caller: string, item: T): void {
    let own = this.#callers.get(caller)
    if (own === undefined) {
      own = { caller, first: undefined, last: undefined, size: 0 }
      this.#callers.set(caller, own)
    }
    const place: Place<T> = { item, own, before: own.last, after: undefined }
    if (own.last === undefined) own.first = place
    else own.last.after = place
    own.last = place
    own.size++
    this.#places.set(item, place)
  }

  /** The item that is taken out next. */
  get next(): T | undefined {
    return this.#nextCaller?.first?.item
  }

  /** The item of a caller that is taken out last. */
  last(caller: string): T | undefined {
    return this.#callers.get(caller)?.last?.item
  }

  /** Takes the next item out, or the next of this caller; its others go behind those of everybody else. */
  take(caller?: string): T | undefined {
    const own = caller === undefined ? this.#nextCaller : this.#callers.get(caller)
    if (own?.first === undefined) return undefined
    const { item } = own.first
    this.delete(item)
    if (this.#callers.delete(own.caller)) this.#callers.set(own.caller, own)
    return item
  }

  /** Takes one item out of turn; false when it is not there. */
  delete(item: T): boolean {
    const place = this.#places.get(item)
    if (place === undefined) return false
    const { own, before, after } = place
    if (before === undefined) own.first = after
    else before.after = after
    if (after === undefined) own.last = before
    else after.before = before
    if (--own.size === 0) this.#callers.delete(own.caller)
    return this.#places.delete(item)
  }

  /** Empties it; returns what was in it, in the order of arrival. */
  clear(): T[] {
    const items = [...this.#places.keys()]
    this.#places.clear()
    this.#callers.clear()
    return items
  }
}
