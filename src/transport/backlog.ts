import type { Clock } from '../api/index.ts'
import { SMALL, type Hold } from './held-bytes.ts'

/** Bytes that may wait for a reader before we wait for it. */
const MAX_UNSENT = 1024 * 1024
/** Bytes at which a reader is given up at once, where nobody counts what is held for all. */
const MAX_BEHIND = 64 * 1024 * 1024
/** How long a reader that is behind may take nothing at all. */
const PATIENCE_MS = 30_000

export interface BacklogOptions {
  readonly clock: Clock
  /** Counts what waits, among what is held for all clients. */
  readonly hold?: Hold | undefined
  /** How long a reader that is behind may take nothing at all; default 30 s. */
  readonly patienceMs?: number | undefined
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

  /** Whether one more message may be written that may be missed. */
  get mayTell(): boolean {
    const { hold, unsent } = this.#options
    return !this.isBlocked && !(hold?.isTight === true && unsent() > SMALL)
  }

  /** Whether one more message of this size may be written. */
  hasRoom(bytes: number): boolean {
    const { hold } = this.#options
    const unsent = this.#options.unsent()
    const hasRoom = hold === undefined ? unsent <= MAX_BEHIND : hold.become(waiting(unsent + bytes))
    if (!hasRoom) this.#options.onStuck()
    return hasRoom
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
    const { hold } = this.#options
    if (hold !== undefined && hold.bytes > 0) hold.become(waiting(this.#options.unsent()))
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

  /** Nobody reads any more. */
  end(): void {
    this.stop()
    this.#options.hold?.end()
  }

  #watch(): void {
    this.#hasMoved = false
    this.#takeBack = this.#options.clock.after(this.#options.patienceMs ?? PATIENCE_MS, () => {
      if (this.#hasMoved) this.#watch()
      else this.#options.onStuck()
    })
  }
}

/** What counts of it. */
function waiting(unsent: number): number {
  return unsent <= SMALL ? 0 : unsent
}
