/** Maximum queued parts for a slow reader, and their maximum characters. */
const MAX_WAITING = 1024
const MAX_CHARACTERS = 1024 * 1024

/**
 * Text that is read while it is written, such as an event stream. Parts above a slow reader's capacity are dropped,
 * except the last one.
 */
export class TextStream implements AsyncIterable<string> {
  readonly #waiting: string[] = []
  #characters = 0
  #isOver = false
  #wake: () => void = () => undefined

  /** False if the next part would be dropped. */
  get hasCapacity(): boolean {
    return !this.#isOver && this.#waiting.length < MAX_WAITING && this.#characters < MAX_CHARACTERS
  }

  append(part: string): void {
    if (this.hasCapacity) this.#pushPart(part)
  }

  /** Adds the last part. */
  end(part: string): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#pushPart(part)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    for (;;) {
      const part = this.#waiting.shift()
      this.#characters -= part?.length ?? 0
      if (part !== undefined) yield part
      else if (this.#isOver) return
      else await new Promise<void>(resolve => (this.#wake = resolve))
    }
  }

  #pushPart(part: string): void {
    this.#characters += part.length
    this.#waiting.push(part)
    this.#wake()
  }
}

/** Work milliseconds per event loop turn. */
const SLICE_MS = 3

const waiting: (() => void)[] = []

/**
 * Runs work in time slices. Returns immediately if it finishes within the first one; otherwise it continues after
 * other events, one slice of work per turn.
 */
export function runInSlices<T>(work: Generator<void, T>): T | Promise<T> {
  const step = runSlice(work)
  return step.done === true ? step.value : continueInSlices(work)
}

async function continueInSlices<T>(work: Generator<void, T>): Promise<T> {
  for (;;) {
    await waitForSlice()
    const step = runSlice(work)
    if (step.done === true) return step.value
  }
}

function runSlice<T>(work: Generator<void, T>): IteratorResult<void, T> {
  const end = performance.now() + SLICE_MS
  for (;;) {
    const step = work.next()
    if (step.done === true || performance.now() >= end) return step
  }
}

function waitForSlice(): Promise<void> {
  return new Promise(resolve => {
    if (waiting.push(resolve) === 1) setImmediate(releaseOne)
  })
}

function releaseOne(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(releaseOne)
}

/** Fair queue: callers alternate; each caller's items are FIFO. An item can be queued once. */
export class FairQueue<T> {
  /** Each caller's items, in round-robin order. */
  readonly #callers = new Map<string, Set<T>>()
  readonly #owners = new Map<T, string>()

  get size(): number {
    return this.#owners.size
  }

  /** Callers with queued items, in round-robin order. */
  get callers(): Iterable<string> {
    return this.#callers.keys()
  }

  /** Counts a caller's items. */
  countQueued(caller: string): number {
    return this.#callers.get(caller)?.size ?? 0
  }

  add(caller: string, item: T): void {
    const own = this.#callers.get(caller)
    if (own === undefined) this.#callers.set(caller, new Set([item]))
    else own.add(item)
    this.#owners.set(item, caller)
  }

  /** Next item to take. */
  get next(): T | undefined {
    return this.#callers.values().next().value?.values().next().value
  }

  /** A caller's last item. */
  last(caller: string): T | undefined {
    return [...(this.#callers.get(caller) ?? [])].at(-1)
  }

  /** Takes the next item, or the next one of this caller, which then moves to the back. */
  take(caller: string | undefined = this.#callers.keys().next().value): T | undefined {
    const own = caller === undefined ? undefined : this.#callers.get(caller)
    if (caller === undefined || own === undefined) return undefined
    const [item] = own
    if (item !== undefined) this.delete(item)
    if (this.#callers.delete(caller)) this.#callers.set(caller, own)
    return item
  }

  /** Removes an item; false if it is not queued. */
  delete(item: T): boolean {
    const caller = this.#owners.get(item)
    const own = caller === undefined ? undefined : this.#callers.get(caller)
    if (caller === undefined || own === undefined) return false
    own.delete(item)
    if (own.size === 0) this.#callers.delete(caller)
    return this.#owners.delete(item)
  }

  /** Clears the queue; returns its items in arrival order. */
  clear(): T[] {
    const items = [...this.#owners.keys()]
    this.#owners.clear()
    this.#callers.clear()
    return items
  }
}
