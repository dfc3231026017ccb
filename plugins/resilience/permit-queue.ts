import { FairQueue } from '../../src/plugin.ts'

/** Call that may wait for a permit. */
export interface QueuedCall {
  /** Permits are shared fairly between callers. */
  readonly caller: string
  /** Called with a permit; `release` returns it. */
  onPermit(): void
  /** Called when a caller with fewer queued calls takes the queue position. */
  onEvicted(): void
}

/** Limits on running and queued calls. 0 disables the concurrency limit. */
export interface PermitLimits {
  readonly concurrency: number
  readonly queue: number
}

/**
 * Bounded queue in front of a bounded number of permits. Each caller's calls run in order; the caller with the fewest
 * permits is next. A full queue evicts a call from the caller with the longest queue.
 */
export class PermitQueue {
  readonly #limits: PermitLimits
  readonly #queue = new FairQueue<QueuedCall>()
  /** Permits by caller. */
  readonly #permits = new Map<string, number>()
  #isGranting = false
  running = 0

  constructor(limits: PermitLimits) {
    this.#limits = limits
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

  /** Acquires a free permit if no call waits. */
  tryAcquire({ caller }: Pick<QueuedCall, 'caller'>): boolean {
    const { concurrency } = this.#limits
    if (concurrency > 0 && (this.running >= concurrency || this.waiting > 0)) return false
    this.acquire({ caller })
    return true
  }

  /** Acquires a permit even above the limit, for a call that continues. */
  acquire({ caller }: Pick<QueuedCall, 'caller'>): void {
    this.running++
    if (this.#limits.concurrency > 0) this.#permits.set(caller, this.#countPermits(caller) + 1)
  }

  /** Enqueues a call; false if the queue is full and this caller has the longest queue. */
  enqueue(waiter: QueuedCall): boolean {
    const { caller } = waiter
    const donor = this.waiting >= this.#limits.queue ? this.#findLongestQueue(caller) : undefined
    if (donor === caller) return false
    this.#queue.add(caller, waiter)
    if (donor !== undefined) this.#evictLast(donor)
    return true
  }

  /** Removes a call from the queue, if present. */
  dequeue(waiter: QueuedCall): void {
    this.#queue.delete(waiter)
  }

  /** Releases a permit and grants it to the next call. */
  release({ caller }: Pick<QueuedCall, 'caller'>): void {
    this.running--
    const remaining = this.#countPermits(caller) - 1
    if (remaining > 0) this.#permits.set(caller, remaining)
    else this.#permits.delete(caller)
    if (this.waiting > 0) this.#grantPermits()
  }

  /** Empties the queue and calls `onRemoved` for each call. */
  clear(onRemoved: (waiter: QueuedCall) => void): void {
    for (const waiter of this.#queue.clear()) onRemoved(waiter)
  }

  /** Returns the caller with the longest queue, counting one more for `joining`; prefers `joining`. */
  #findLongestQueue(joining: string): string {
    let longest = joining
    let size = this.#queue.countQueued(joining) + 1
    for (const caller of this.#queue.callers)
      if (this.#queue.countQueued(caller) > size) [longest, size] = [caller, this.#queue.countQueued(caller)]
    return longest
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
    while (this.waiting > 0 && this.running < this.#limits.concurrency) {
      const waiter = this.#queue.take(this.#findNextCaller())
      if (waiter === undefined) break
      this.acquire(waiter)
      waiter.onPermit()
    }
    this.#isGranting = false
  }

  /** Returns the waiting caller with the fewest permits; of several, the one that waited longest. */
  #findNextCaller(): string | undefined {
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
    return this.#permits.get(caller) ?? 0
  }
}
