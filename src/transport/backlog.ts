/** Bytes that wait for one connection are not counted up to here: the number of connections bounds them. */
export const UNCOUNTED_BYTES = 64 * 1024
/** Bytes that may wait for a reader before no more is taken from it. */
const MAX_UNSENT = 1024 * 1024
/** Bytes at which a reader is cut. */
export const MAX_UNREAD_BYTES = 64 * 1024 * 1024

/** Counts the bytes that a listener or an upstream holds in memory. */
export class MemoryBudget {
  /** A reload may change it. */
  max: number
  bytes = 0

  constructor(max: number) {
    this.max = max
  }

  /** True if no new work may begin. */
  get isFull(): boolean {
    return this.bytes >= this.max
  }

  /** True if half of the room is taken: large bodies and what may be missed are refused. */
  get isHalfFull(): boolean {
    return this.bytes >= this.max / 2
  }
}

/** The bytes of one request, connection or session among them. */
export class MemoryShare {
  bytes = 0
  readonly #held: MemoryBudget
  #isOver = false

  constructor(held: MemoryBudget) {
    this.#held = held
  }

  get isHalfFull(): boolean {
    return this.#held.isHalfFull
  }

  set(bytes: number): void {
    if (this.#isOver) return
    this.#held.bytes += bytes - this.bytes
    this.bytes = bytes
  }

  /** Counts what waits for a reader; little does not count. */
  setUnsent(bytes: number): void {
    this.set(bytes <= UNCOUNTED_BYTES ? 0 : bytes)
  }

  /** Counts this many bytes if there is room for them in the first half. */
  claim(bytes: number): boolean {
    if (bytes > this.bytes && this.#held.bytes + bytes - this.bytes > this.#held.max / 2) return false
    this.set(bytes)
    return true
  }

  release(): void {
    this.set(0)
    this.#isOver = true
  }
}

interface BacklogOptions {
  readonly hold: MemoryShare | undefined
  /** Bytes that wait for the reader now. */
  unsent(): number
  /** Called when the reader falls behind or catches up. */
  onFlow(): void
  /** Called when the reader must be disconnected. */
  onStuck(): void
}

/** Bounds what a reader on a network leaves unread: when to wait for it, and when to cut it. */
export class Backlog {
  isBlocked = false
  readonly #options: BacklogOptions

  constructor(options: BacklogOptions) {
    this.#options = options
  }

  /** True if one more message may be written that may be missed. */
  get canSkip(): boolean {
    const { hold, unsent } = this.#options
    return !this.isBlocked && !(hold?.isHalfFull === true && unsent() > UNCOUNTED_BYTES)
  }

  /** Updates the counts after something was written. */
  handleWrite(): void {
    const { hold, unsent, onFlow, onStuck } = this.#options
    const bytes = unsent()
    hold?.setUnsent(bytes)
    if (bytes > MAX_UNREAD_BYTES) return onStuck()
    if (this.isBlocked || bytes <= MAX_UNSENT) return
    this.isBlocked = true
    onFlow()
  }

  /** Updates the counts after something has left. */
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
