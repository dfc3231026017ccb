/** Unread bytes per connection that the budget ignores: the number of connections bounds them. */
export const UNCOUNTED_BYTES = 64 * 1024
/** Unread bytes above which reading from the peer pauses. */
const MAX_UNSENT = 1024 * 1024
/** Unread bytes at which the connection is closed. */
export const MAX_UNREAD_BYTES = 64 * 1024 * 1024

/** Counts the bytes that a listener or an upstream holds in memory. */
export class MemoryBudget {
  max: number
  bytes = 0

  constructor(max: number) {
    this.max = max
  }

  /** True if no new work may begin. */
  get isFull(): boolean {
    return this.bytes >= this.max
  }

  /** True if half of the budget is used: large bodies and optional messages are refused. */
  get isHalfFull(): boolean {
    return this.bytes >= this.max / 2
  }
}

/** The bytes of one request, connection or session within a budget. */
export class MemoryShare {
  bytes = 0
  readonly #budget: MemoryBudget
  #isOver = false

  constructor(budget: MemoryBudget) {
    this.#budget = budget
  }

  get isHalfFull(): boolean {
    return this.#budget.isHalfFull
  }

  set(bytes: number): void {
    if (this.#isOver) return
    this.#budget.bytes += bytes - this.bytes
    this.bytes = bytes
  }

  /** Counts unread bytes, unless they are few. */
  setUnsent(bytes: number): void {
    this.set(bytes <= UNCOUNTED_BYTES ? 0 : bytes)
  }

  /** Counts these bytes if they fit into the first half of the budget. */
  claim(bytes: number): boolean {
    if (bytes > this.bytes && this.#budget.bytes + bytes - this.bytes > this.#budget.max / 2) return false
    this.set(bytes)
    return true
  }

  release(): void {
    this.set(0)
    this.#isOver = true
  }
}

/** Creates a share that ends when the stream closes. */
export function createHold(
  stream: { on(event: 'close', listener: () => void): unknown },
  budget: MemoryBudget,
): MemoryShare {
  const hold = new MemoryShare(budget)
  stream.on('close', () => hold.release())
  return hold
}

interface BacklogOptions {
  readonly hold: MemoryShare | undefined
  /** Bytes not yet read by the peer. */
  unsent(): number
  /** Called when the reader falls behind or catches up. */
  onFlow(): void
  /** Called when the reader must be disconnected. */
  onStuck(): void
}

/** Limits unread data on a network connection: decides when to pause and when to close it. */
export class Backlog {
  isBlocked = false
  readonly #options: BacklogOptions

  constructor(options: BacklogOptions) {
    this.#options = options
  }

  /** True if an optional message may be written. */
  get canSkip(): boolean {
    const { hold, unsent } = this.#options
    return !this.isBlocked && !(hold?.isHalfFull === true && unsent() > UNCOUNTED_BYTES)
  }

  handleWrite(): void {
    const { hold, unsent, onFlow, onStuck } = this.#options
    const bytes = unsent()
    hold?.setUnsent(bytes)
    if (bytes > MAX_UNREAD_BYTES) return onStuck()
    if (this.isBlocked || bytes <= MAX_UNSENT) return
    this.isBlocked = true
    onFlow()
  }

  handleDrain(): void {
    const { hold, unsent, onFlow } = this.#options
    const bytes = unsent()
    hold?.setUnsent(bytes)
    if (!this.isBlocked || bytes > MAX_UNSENT / 2) return
    this.isBlocked = false
    onFlow()
  }

  end(): void {
    this.#options.hold?.release()
  }
}
