import type { Clock } from '../../src/plugin.ts'

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
  readonly callerQueue: CallerQueue
  before: Place | undefined
  after: Place | undefined
}

/** What one caller has: waiting, first come first, and running. */
interface CallerQueue {
  readonly caller: string
  first: Place | undefined
  last: Place | undefined
  size: number
  running: number
  /** Turns that are kept for it, each with the way to stop its timer. */
  readonly kept: (() => void)[]
  begunAt: number
}

/** When a caller's last call ended while others waited, and whether it came back soon the time before. */
interface Leave {
  at: number | undefined
  /** How soon is soon. */
  ms: number
  isShort: boolean
}

/** How much may run, and how much may wait. 0 running means as much as likes to. */
export interface TurnLimits {
  readonly concurrency: number
  readonly queue: number
}

/** A turn is kept for its caller no longer than this. */
const MOST_KEPT_MS = 100
/** Callers whose leaves are remembered. */
const MOST_LEAVES = 256

/**
 * A bounded queue in front of a bounded number of turns. First come, first served within one caller; of the callers, who has
 * the fewest turns is next, and they take turns where they have as many. Where the queue is full the caller who fills it gives way.
 *
 * Who makes one call after the other is away for a moment between two, and would find its turn given to somebody with a
 * long queue. So with a clock its turn is kept for as long as its call took, if it has less than who is next and came back as soon before.
 */
export class Turns {
  readonly #limits: TurnLimits
  readonly #clock: Clock | undefined
  /** Those who wait, who waited longest for a turn first. */
  readonly #callerQueues = new Map<string, CallerQueue>()
  /** Those who wait, run, or have a turn kept. */
  readonly #known = new Map<string, CallerQueue>()
  readonly #places = new Map<Waiter, Place>()
  readonly #leaves = new Map<string, Leave>()
  #isHandingOut = false
  #kept = 0
  running = 0

  constructor(limits: TurnLimits, clock?: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  get waiting(): number {
    return this.#places.size
  }

  /** Takes a turn, where one is kept for this caller, or one is free and nobody has waited longer. */
  takes(waiter: Pick<Waiter, 'caller'>): boolean {
    const { concurrency } = this.#limits
    if (concurrency <= 0) {
      this.running++
      return true
    }
    const { caller } = waiter
    if (this.#leaves.size > 0) this.#comesBack(caller)
    const known = this.#known.get(caller)
    const stop = known?.kept.pop()
    if (stop !== undefined) {
      stop()
      this.#kept--
    } else if (this.running + this.#kept >= concurrency || this.#places.size > 0) return false
    this.#begin(known ?? this.#open(caller))
    return true
  }

  /** Waits for a turn; false when the queue is full and this caller has the most in it. */
  waits(waiter: Waiter): boolean {
    const callerQueue = this.#known.get(waiter.caller) ?? this.#open(waiter.caller)
    const giver = this.#places.size >= this.#limits.queue ? this.#longest(callerQueue) : undefined
    if (giver === callerQueue) {
      this.#forget(callerQueue)
      return false
    }
    const place: Place = { waiter, callerQueue, before: callerQueue.last, after: undefined }
    if (callerQueue.last === undefined) callerQueue.first = place
    else callerQueue.last.after = place
    callerQueue.last = place
    callerQueue.size++
    if (callerQueue.size === 1) this.#callerQueues.set(callerQueue.caller, callerQueue)
    this.#places.set(waiter, place)
    if (giver?.last !== undefined) this.#pushOut(giver.last)
    return true
  }

  /** Gives up its place; nothing happens when it has none. */
  leaves(waiter: Waiter): void {
    const place = this.#places.get(waiter)
    if (place !== undefined) this.#remove(place)
  }

  /** The turn of a call has ended: the next one begins, unless it is kept for the caller's next. */
  done({ caller }: Pick<Waiter, 'caller'>): void {
    this.running--
    const callerQueue = this.#known.get(caller)
    if (callerQueue !== undefined) this.#leave(callerQueue)
    this.#handOut()
  }

  /** Empties the queue; each who waited is handed to `told`. */
  clear(told: (waiter: Waiter) => void): void {
    const waiters = [...this.#places.keys()]
    this.#places.clear()
    this.#callerQueues.clear()
    for (const callerQueue of this.#known.values()) {
      callerQueue.first = callerQueue.last = undefined
      callerQueue.size = 0
      this.#forget(callerQueue)
    }
    for (const waiter of waiters) told(waiter)
  }

  #open(caller: string): CallerQueue {
    const callerQueue = {
      caller,
      first: undefined,
      last: undefined,
      size: 0,
      running: 0,
      kept: [],
      begunAt: 0,
    }
    this.#known.set(caller, callerQueue)
    return callerQueue
  }

  #forget(callerQueue: CallerQueue): void {
    if (callerQueue.size + callerQueue.running + callerQueue.kept.length === 0)
      this.#known.delete(callerQueue.caller)
  }

  #begin(callerQueue: CallerQueue): void {
    this.running++
    callerQueue.running++
    // Where nobody waits, no turn is kept, and the time is not looked at for each call.
    callerQueue.begunAt = this.#clock !== undefined && this.#places.size > 0 ? this.#clock.now() : 0
  }

  #leave(callerQueue: CallerQueue): void {
    callerQueue.running--
    const next = this.#clock === undefined || callerQueue.size > 0 ? undefined : this.#next()
    if (this.#clock !== undefined && next !== undefined) this.#mayKeep(callerQueue, next, this.#clock)
    this.#forget(callerQueue)
  }

  #mayKeep(callerQueue: CallerQueue, next: CallerQueue, clock: Clock): void {
    const at = clock.now()
    const ms = Math.min(at - callerQueue.begunAt, MOST_KEPT_MS)
    const isShort = this.#leaves.get(callerQueue.caller)?.isShort === true
    this.#leaves.delete(callerQueue.caller)
    this.#leaves.set(callerQueue.caller, { at, ms, isShort })
    for (const oldest of this.#leaves.keys()) {
      if (this.#leaves.size <= MOST_LEAVES) break
      this.#leaves.delete(oldest)
    }
    if (!isShort || turnsOf(callerQueue) >= turnsOf(next)) return
    const stop = clock.after(ms, () => {
      callerQueue.kept.splice(callerQueue.kept.indexOf(stop), 1)
      this.#kept--
      this.#forget(callerQueue)
      this.#handOut()
    })
    callerQueue.kept.push(stop)
    this.#kept++
  }

  #comesBack(caller: string): void {
    const leave = this.#leaves.get(caller)
    if (leave?.at === undefined || this.#clock === undefined) return
    leave.isShort = this.#clock.now() - leave.at <= leave.ms
    leave.at = undefined
  }

  /** The queue that would be the longest with one more in `joining`; of several, that one. */
  #longest(joining: CallerQueue): CallerQueue {
    let longest = joining
    let size = joining.size + 1
    for (const callerQueue of this.#callerQueues.values())
      if (callerQueue.size > size) [longest, size] = [callerQueue, callerQueue.size]
    return longest
  }

  #pushOut(place: Place): void {
    this.#remove(place)
    place.waiter.pushedOut()
  }

  #handOut(): void {
    // What begins may end at once, and must not pile up on the stack.
    if (this.#isHandingOut) return
    this.#isHandingOut = true
    while (this.#places.size > 0 && this.running + this.#kept < this.#limits.concurrency) this.#handOutOne()
    this.#isHandingOut = false
  }

  #handOutOne(): void {
    const callerQueue = this.#next()
    if (callerQueue?.first === undefined) return
    const { waiter } = callerQueue.first
    // First, so that it is not forgotten with its last place in the queue.
    this.#begin(callerQueue)
    this.#remove(callerQueue.first)
    // Behind all the others.
    if (this.#callerQueues.delete(callerQueue.caller)) this.#callerQueues.set(callerQueue.caller, callerQueue)
    waiter.begin()
  }

  /** Of those who wait, who has the fewest turns; of several, who has waited longest. At most as many are passed over as there are turns. */
  #next(): CallerQueue | undefined {
    let next: CallerQueue | undefined
    for (const callerQueue of this.#callerQueues.values()) {
      if (next === undefined || turnsOf(callerQueue) < turnsOf(next)) next = callerQueue
      if (turnsOf(next) === 0) break
    }
    return next
  }

  #remove({ waiter, callerQueue, before, after }: Place): void {
    if (before === undefined) callerQueue.first = after
    else before.after = after
    if (after === undefined) callerQueue.last = before
    else after.before = before
    callerQueue.size--
    if (callerQueue.size === 0) this.#callerQueues.delete(callerQueue.caller)
    this.#places.delete(waiter)
    this.#forget(callerQueue)
  }
}

function turnsOf({ running, kept }: CallerQueue): number {
  return running + kept.length
}
