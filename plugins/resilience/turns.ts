import type { Clock } from '../../src/plugin.ts'
import { BoundedMap, FairQueue } from '../../src/plugin.ts'

/** A call that may have to wait for its turn. */
export interface Waiter {
  /** Callers take turns. */
  readonly caller: string
  /** Its turn has come, and is given back with `done`. */
  begin(): void
  /** Another caller, with less in the queue, took its place. */
  pushedOut(): void
}

/** Turns of one caller. */
interface Holder {
  readonly caller: string
  running: number
  /** Turns that are kept for it, each with the way to stop its timer. */
  readonly kept: (() => void)[]
  begunAt: number
}

/** When a caller's last call ended while others waited, and whether it came back soon the time before. */
interface Leave {
  at: number | undefined
  /** A caller that is back after so many milliseconds is back soon. */
  ms: number
  isShort: boolean
}

/** Bounds on what runs, and on what waits. 0 running means as much as likes to. */
export interface TurnLimits {
  readonly concurrency: number
  readonly queue: number
}

/** A turn is kept for its caller no longer than this. */
const MAX_KEPT_MS = 100
/** Callers whose leaves are remembered. */
const MAX_LEAVES = 256

/**
 * A bounded queue in front of a bounded number of turns. First come, first served within one caller; of the callers, the one
 * with the fewest turns is next, and they take turns where they have as many. Where the queue is full the caller that fills it gives way.
 * A call under way that gave its turn to others comes back before the other calls of its caller, whether the queue is full or not.
 *
 * A caller that makes one call after the other is away for a moment between two, and would find its turn given to one with a
 * long queue. So with a clock its turn is kept for as long as its call took, if it has less than the next caller and came back as soon before.
 */
export class Turns {
  readonly #limits: TurnLimits
  readonly #clock: Clock | undefined
  readonly #queue = new FairQueue<Waiter>()
  /** Callers that have a turn, or one kept for them. */
  readonly #holders = new Map<string, Holder>()
  readonly #leaves = new BoundedMap<string, Leave>({ max: MAX_LEAVES })
  #isHandingOut = false
  #kept = 0
  running = 0

  constructor(limits: TurnLimits, clock?: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  /** True if one call runs at a time: it keeps its turn while its client is asked, as nobody else's request may be taken for its own. */
  get isSingle(): boolean {
    return this.#limits.concurrency === 1
  }

  get waiting(): number {
    return this.#queue.size
  }

  /** Takes a turn, where one is kept for this caller, or one is free and nobody has waited longer. */
  takes({ caller }: Pick<Waiter, 'caller'>): boolean {
    const { concurrency } = this.#limits
    if (concurrency <= 0) {
      this.running++
      return true
    }
    if (this.#leaves.size > 0) this.#noteReturn(caller)
    const stop = this.#holders.get(caller)?.kept.pop()
    if (stop !== undefined) {
      stop()
      this.#kept--
    } else if (this.running + this.#kept >= concurrency || this.waiting > 0) return false
    this.#begin(caller)
    return true
  }

  /** Waits for a turn; false when the queue is full and this caller has the most in it. */
  waits(waiter: Waiter): boolean {
    const { caller } = waiter
    const isFull = this.waiting - this.#queue.ahead >= this.#limits.queue
    const giver = isFull ? this.#longest(caller) : undefined
    if (giver === caller) return false
    this.#queue.add(caller, waiter)
    if (giver !== undefined) this.#pushOut(giver)
    return true
  }

  /** Waits for a turn again, for a call under way: it has a place in any case. */
  comesBack(waiter: Waiter): void {
    this.#queue.addAhead(waiter.caller, waiter)
  }

  /** Gives up its place; nothing happens when it has none. */
  leaves(waiter: Waiter): void {
    this.#queue.delete(waiter)
  }

  /** The turn of a call has ended: the next one begins, unless it is kept for the caller's next. */
  done({ caller }: Pick<Waiter, 'caller'>): void {
    this.running--
    const holder = this.#holders.get(caller)
    if (holder !== undefined) this.#leave(holder)
    this.#handOut()
  }

  /** Empties the queue; each call that waited is handed to `left`. */
  clear(left: (waiter: Waiter) => void): void {
    for (const waiter of this.#queue.clear()) left(waiter)
  }

  #begin(caller: string): void {
    let holder = this.#holders.get(caller)
    if (holder === undefined) {
      holder = { caller, running: 0, kept: [], begunAt: 0 }
      this.#holders.set(caller, holder)
    }
    this.running++
    holder.running++
    // While nobody waits, no turn is kept, and the clock is not read for each call.
    holder.begunAt = this.#clock !== undefined && this.waiting > 0 ? this.#clock.now() : 0
  }

  #forget({ caller, running, kept }: Holder): void {
    if (running + kept.length === 0) this.#holders.delete(caller)
  }

  #leave(holder: Holder): void {
    holder.running--
    if (this.waiting > 0 && this.#clock !== undefined) this.#mayKeepFor(holder, this.#clock)
    this.#forget(holder)
  }

  #mayKeepFor(holder: Holder, clock: Clock): void {
    const next = this.#queue.countQueued(holder.caller) === 0 ? this.#next() : undefined
    if (next !== undefined) this.#mayKeep(holder, next, clock)
  }

  #mayKeep(holder: Holder, next: string, clock: Clock): void {
    const at = clock.now()
    const ms = Math.min(at - holder.begunAt, MAX_KEPT_MS)
    const isShort = this.#leaves.get(holder.caller)?.isShort === true
    this.#leaves.set(holder.caller, { at, ms, isShort })
    if (!isShort || this.#turnsOf(holder.caller) >= this.#turnsOf(next)) return
    const stop = clock.after(ms, () => {
      holder.kept.splice(holder.kept.indexOf(stop), 1)
      this.#kept--
      this.#forget(holder)
      this.#handOut()
    })
    holder.kept.push(stop)
    this.#kept++
  }

  #noteReturn(caller: string): void {
    const leave = this.#leaves.get(caller)
    if (leave?.at === undefined || this.#clock === undefined) return
    leave.isShort = this.#clock.now() - leave.at <= leave.ms
    leave.at = undefined
  }

  /** The caller with the longest queue if `joining` had one more; of several, that one. */
  #longest(joining: string): string {
    let longest = joining
    let size = this.#newOf(joining) + 1
    for (const caller of this.#queue.callers)
      if (this.#newOf(caller) > size) [longest, size] = [caller, this.#newOf(caller)]
    return longest
  }

  /** The number of its calls that have not been under way. */
  #newOf(caller: string): number {
    return this.#queue.countQueued(caller) - this.#queue.countAhead(caller)
  }

  #pushOut(caller: string): void {
    const waiter = this.#queue.last(caller)
    if (waiter === undefined) return
    this.#queue.delete(waiter)
    waiter.pushedOut()
  }

  #handOut(): void {
    // A call that begins may end at once, and must not pile up on the stack.
    if (this.#isHandingOut) return
    this.#isHandingOut = true
    while (this.waiting > 0 && this.running + this.#kept < this.#limits.concurrency) this.#handOutOne()
    this.#isHandingOut = false
  }

  #handOutOne(): void {
    const caller = this.#next()
    if (caller === undefined) return
    this.#begin(caller)
    this.#queue.take(caller)?.begin()
  }

  /** Of the callers that wait, the one with the fewest turns; of several, the one that has waited longest. At most as many are passed over as there are turns. */
  #next(): string | undefined {
    let next: string | undefined
    let fewest = Infinity
    for (const caller of this.#queue.callers) {
      const turns = this.#turnsOf(caller)
      if (turns < fewest) [next, fewest] = [caller, turns]
      if (fewest === 0) break
    }
    return next
  }

  #turnsOf(caller: string): number {
    const holder = this.#holders.get(caller)
    return holder === undefined ? 0 : holder.running + holder.kept.length
  }
}
