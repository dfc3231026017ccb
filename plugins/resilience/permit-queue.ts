import type { Clock } from '../../src/plugin.ts'
import { BoundedMap, FairQueue } from '../../src/plugin.ts'

/** Call that may wait for a permit. */
export interface QueuedCall {
  /** Permits are shared fairly between callers. */
  readonly caller: string
  /** Called with a permit; `release` returns it. */
  onPermit(): void
  /** Called when a caller with fewer queued calls takes the queue position. */
  onEvicted(): void
}

/** One caller's permits. */
interface PermitHolder {
  readonly caller: string
  running: number
  /** Permits reserved for the caller, each with a function that stops its timer. */
  readonly reserved: (() => void)[]
  acquiredAt: number
}

/** When a caller last released a permit while others waited, and whether its next call came promptly. */
interface CallerReturn {
  at: number | undefined
  /** Milliseconds within which the next call counts as prompt. */
  ms: number
  wasPrompt: boolean
}

/** Limits on running and queued calls. 0 disables the concurrency limit. */
export interface PermitLimits {
  readonly concurrency: number
  readonly queue: number
}

/** Maximum time for a reserved permit. */
const MAX_RESERVED_MS = 100
/** Maximum callers with a recorded return. */
const MAX_CALLER_RETURNS = 256

/**
 * Bounded queue in front of a bounded number of permits. Each caller's calls run in order; the caller with the fewest
 * permits is next. A full queue evicts a call from the caller with the longest queue. A resumed call goes before its
 * caller's other calls, even if the queue is full.
 *
 * A caller that makes sequential calls is absent between two of them and would lose its permit to a caller with a
 * long queue. With a clock, its permit stays reserved for as long as its call took, if it has fewer permits than the
 * next caller and was prompt before.
 */
export class PermitQueue {
  readonly #limits: PermitLimits
  readonly #clock: Clock | undefined
  readonly #queue = new FairQueue<QueuedCall>()
  /** Callers that hold or reserve a permit. */
  readonly #holders = new Map<string, PermitHolder>()
  readonly #returns = new BoundedMap<string, CallerReturn>({ max: MAX_CALLER_RETURNS })
  #isGranting = false
  #reserved = 0
  running = 0

  constructor(limits: PermitLimits, clock?: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  /**
   * True if one call runs at a time: it keeps its permit during a client request, so that no other request is
   * attributed to it.
   */
  get isSingle(): boolean {
    return this.#limits.concurrency === 1
  }

  get waiting(): number {
    return this.#queue.size
  }

  /** Acquires a reserved permit, or a free one if no call waits. */
  tryAcquire({ caller }: Pick<QueuedCall, 'caller'>): boolean {
    const { concurrency } = this.#limits
    if (concurrency <= 0) {
      this.running++
      return true
    }
    if (this.#returns.size > 0) this.#recordReturn(caller)
    const stop = this.#holders.get(caller)?.reserved.pop()
    if (stop !== undefined) {
      stop()
      this.#reserved--
    } else if (this.running + this.#reserved >= concurrency || this.waiting > 0) return false
    this.#acquirePermit(caller)
    return true
  }

  /** Enqueues a call; false if the queue is full and this caller has the longest queue. */
  enqueue(waiter: QueuedCall): boolean {
    const { caller } = waiter
    const isFull = this.waiting - this.#queue.ahead >= this.#limits.queue
    const donor = isFull ? this.#findLongestQueue(caller) : undefined
    if (donor === caller) return false
    this.#queue.add(caller, waiter)
    if (donor !== undefined) this.#evictLast(donor)
    return true
  }

  /** Enqueues a resumed call; never refused. */
  requeue(waiter: QueuedCall): void {
    this.#queue.addAhead(waiter.caller, waiter)
  }

  /** Removes a call from the queue, if present. */
  dequeue(waiter: QueuedCall): void {
    this.#queue.delete(waiter)
  }

  /** Releases a permit and grants it to the next call, unless it is reserved. */
  release({ caller }: Pick<QueuedCall, 'caller'>): void {
    this.running--
    const holder = this.#holders.get(caller)
    if (holder !== undefined) this.#releaseHolder(holder)
    this.#grantPermits()
  }

  /** Empties the queue and calls `left` for each call. */
  clear(onRemoved: (waiter: QueuedCall) => void): void {
    for (const waiter of this.#queue.clear()) onRemoved(waiter)
  }

  #acquirePermit(caller: string): void {
    let holder = this.#holders.get(caller)
    if (holder === undefined) {
      holder = { caller, running: 0, reserved: [], acquiredAt: 0 }
      this.#holders.set(caller, holder)
    }
    this.running++
    holder.running++
    // Skip reading the clock if no call waits.
    holder.acquiredAt = this.#clock !== undefined && this.waiting > 0 ? this.#clock.now() : 0
  }

  #deleteIdleHolder({ caller, running, reserved }: PermitHolder): void {
    if (running + reserved.length === 0) this.#holders.delete(caller)
  }

  #releaseHolder(holder: PermitHolder): void {
    holder.running--
    if (this.waiting > 0 && this.#clock !== undefined) this.#reserveIfContended(holder, this.#clock)
    this.#deleteIdleHolder(holder)
  }

  #reserveIfContended(holder: PermitHolder, clock: Clock): void {
    const next = this.#queue.countQueued(holder.caller) === 0 ? this.#nextCaller() : undefined
    if (next !== undefined) this.#reserve(holder, next, clock)
  }

  #reserve(holder: PermitHolder, next: string, clock: Clock): void {
    const at = clock.now()
    const ms = Math.min(at - holder.acquiredAt, MAX_RESERVED_MS)
    const isShort = this.#returns.get(holder.caller)?.wasPrompt === true
    this.#returns.set(holder.caller, { at, ms, wasPrompt: isShort })
    if (!isShort || this.#countPermits(holder.caller) >= this.#countPermits(next)) return
    const stop = clock.after(ms, () => {
      holder.reserved.splice(holder.reserved.indexOf(stop), 1)
      this.#reserved--
      this.#deleteIdleHolder(holder)
      this.#grantPermits()
    })
    holder.reserved.push(stop)
    this.#reserved++
  }

  #recordReturn(caller: string): void {
    const leave = this.#returns.get(caller)
    if (leave?.at === undefined || this.#clock === undefined) return
    leave.wasPrompt = this.#clock.now() - leave.at <= leave.ms
    leave.at = undefined
  }

  /** Returns the caller with the longest queue, counting one more for `joining`; prefers `joining`. */
  #findLongestQueue(joining: string): string {
    let longest = joining
    let size = this.#countNew(joining) + 1
    for (const caller of this.#queue.callers)
      if (this.#countNew(caller) > size) [longest, size] = [caller, this.#countNew(caller)]
    return longest
  }

  /** Counts queued calls that have not started. */
  #countNew(caller: string): number {
    return this.#queue.countQueued(caller) - this.#queue.countAhead(caller)
  }

  #evictLast(caller: string): void {
    const waiter = this.#queue.last(caller)
    if (waiter === undefined) return
    this.#queue.delete(waiter)
    waiter.onEvicted()
  }

  #grantPermits(): void {
    // A granted call may end synchronously; avoid recursion.
    if (this.#isGranting) return
    this.#isGranting = true
    while (this.waiting > 0 && this.running + this.#reserved < this.#limits.concurrency) this.#grantNext()
    this.#isGranting = false
  }

  #grantNext(): void {
    const caller = this.#nextCaller()
    if (caller === undefined) return
    this.#acquirePermit(caller)
    this.#queue.take(caller)?.onPermit()
  }

  /** Returns the waiting caller with the fewest permits; of several, the one that waited longest. */
  #nextCaller(): string | undefined {
    let next: string | undefined
    let fewest = Infinity
    for (const caller of this.#queue.callers) {
      const permitCount = this.#countPermits(caller)
      if (permitCount < fewest) [next, fewest] = [caller, permitCount]
      if (fewest === 0) break
    }
    return next
  }

  #countPermits(caller: string): number {
    const holder = this.#holders.get(caller)
    return holder === undefined ? 0 : holder.running + holder.reserved.length
  }
}
