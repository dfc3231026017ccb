import type { Clock } from '../core/ports.ts'

/** Bytes that may wait for a reader before we wait for it. */
const MAX_UNSENT = 1024 * 1024
/** Bytes at which a reader is given up at once. */
const MAX_BEHIND = 64 * 1024 * 1024
/** How long a reader that is behind may take nothing at all. */
const PATIENCE_MS = 30_000

export interface BacklogOptions {
  readonly clock: Clock
  /** Bytes that wait for the reader now. */
  unsent(): number
  /** The reader has fallen behind, or has caught up. */
  onFlow(): void
  /** The reader is to be given up. */
  onStuck(): void
}

/** What a reader on a network leaves unread: when to wait for it, and when to give it up. */
export class Backlog {
  isBlocked = false
  readonly #options: BacklogOptions
  #hasMoved = false
  #takeBack: (() => void) | undefined

  constructor(options: BacklogOptions) {
    this.#options = options
  }

  /** Whether one more message may be written. */
  hasRoom(): boolean {
    if (this.#options.unsent() <= MAX_BEHIND) return true
    this.#options.onStuck()
    return false
  }

  /** Something was written. */
  grew(): void {
    if (this.isBlocked || this.#options.unsent() <= MAX_UNSENT) return
    this.isBlocked = true
    this.#watch()
    this.#options.onFlow()
  }

  /** Something has left. */
  shrank(): void {
    if (!this.isBlocked) return
    this.#hasMoved = true
    if (this.#options.unsent() > MAX_UNSENT / 2) return
    this.stop()
    this.isBlocked = false
    this.#options.onFlow()
  }

  stop(): void {
    this.#takeBack?.()
    this.#takeBack = undefined
  }

  #watch(): void {
    this.#hasMoved = false
    this.#takeBack = this.#options.clock.after(PATIENCE_MS, () => {
      if (this.#hasMoved) this.#watch()
      else this.#options.onStuck()
    })
  }
}
