/** What waits for its turn. */
export interface Waiter {
  /** Whose it is: callers take turns. */
  readonly caller: string
  /** Its turn has come; whoever gets one gives it back with `done`. */
  begin(): void
  /** Another caller, with less in the queue, took its place. */
  pushedOut(): void
}

interface Place {
  readonly waiter: Waiter
  readonly lane: Lane
  before: Place | undefined
  after: Place | undefined
}

/** What one caller has in the queue, first come first. */
interface Lane {
  readonly caller: string
  first: Place | undefined
  last: Place | undefined
  size: number
}

/** How much may run, and how much may wait. 0 running means as much as likes to. */
export interface TurnLimits {
  readonly concurrency: number
  readonly queue: number
}

/**
 * A bounded queue in front of a bounded number of turns. First come, first served within one caller; callers take turns
 * with each other, and where the queue is full the caller who fills it gives way.
 */
export class Turns {
  readonly #limits: TurnLimits
  readonly #lanes = new Map<string, Lane>()
  readonly #places = new Map<Waiter, Place>()
  #isHandingOut = false
  running = 0

  constructor(limits: TurnLimits) {
    this.#limits = limits
  }

  get waiting(): number {
    return this.#places.size
  }

  /** Takes a turn, where one is free and nobody has waited longer. */
  takes(): boolean {
    const { concurrency } = this.#limits
    if (concurrency > 0 && (this.running >= concurrency || this.#places.size > 0)) return false
    this.running++
    return true
  }

  /** Waits for a turn; false when the queue is full and this caller has the most in it. */
  waits(waiter: Waiter): boolean {
    const lane = this.#lanes.get(waiter.caller) ?? this.#open(waiter.caller)
    const giver = this.#places.size >= this.#limits.queue ? this.#longest(lane) : undefined
    if (giver === lane) {
      if (lane.size === 0) this.#lanes.delete(lane.caller)
      return false
    }
    const place: Place = { waiter, lane, before: lane.last, after: undefined }
    if (lane.last === undefined) lane.first = place
    else lane.last.after = place
    lane.last = place
    lane.size++
    this.#places.set(waiter, place)
    if (giver?.last !== undefined) this.#pushOut(giver.last)
    return true
  }

  /** Gives up its place; nothing happens when it has none. */
  leaves(waiter: Waiter): void {
    const place = this.#places.get(waiter)
    if (place !== undefined) this.#remove(place)
  }

  /** A turn has ended: the next one begins. */
  done(): void {
    this.running--
    // What begins may end at once, and must not pile up on the stack.
    if (this.#isHandingOut) return
    this.#isHandingOut = true
    while (this.#places.size > 0 && this.running < this.#limits.concurrency) this.#handOut()
    this.#isHandingOut = false
  }

  /** Empties the queue; each who waited is handed to `told`. */
  clear(told: (waiter: Waiter) => void): void {
    const waiters = [...this.#places.keys()]
    this.#lanes.clear()
    this.#places.clear()
    for (const waiter of waiters) told(waiter)
  }

  #open(caller: string): Lane {
    const lane: Lane = { caller, first: undefined, last: undefined, size: 0 }
    this.#lanes.set(caller, lane)
    return lane
  }

  /** The lane that would be the longest with one more in `joining`; of several, that one. */
  #longest(joining: Lane): Lane {
    let longest = joining
    let size = joining.size + 1
    for (const lane of this.#lanes.values()) if (lane.size > size) [longest, size] = [lane, lane.size]
    return longest
  }

  #pushOut(place: Place): void {
    this.#remove(place)
    place.waiter.pushedOut()
  }

  #handOut(): void {
    const [lane] = this.#lanes.values()
    if (lane?.first === undefined) return
    const { waiter } = lane.first
    this.#remove(lane.first)
    // Behind all the others.
    if (this.#lanes.delete(lane.caller)) this.#lanes.set(lane.caller, lane)
    this.running++
    waiter.begin()
  }

  #remove({ waiter, lane, before, after }: Place): void {
    if (before === undefined) lane.first = after
    else before.after = after
    if (after === undefined) lane.last = before
    else after.before = before
    lane.size--
    if (lane.size === 0) this.#lanes.delete(lane.caller)
    this.#places.delete(waiter)
  }
}
