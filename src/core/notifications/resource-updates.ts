import type { Clock, Notification } from '../../api/index.ts'

/** Least time in which one holder hears twice of one resource. */
const EVERY_MS = 100

/**
 * Tells the holders of one resource that it changed: at once, and then ten times a second at most, as an update says no more
 * than that it is to be read again. What came last in between is told as well.
 */
export class ResourceUpdates {
  readonly #clock: Clock
  readonly #tell: (holder: object, update: Notification) => void
  /** Holders that were told of late, with what they are to hear next. */
  readonly #told = new Map<object, Notification | undefined>()

  constructor(clock: Clock, tell: (holder: object, update: Notification) => void) {
    this.#clock = clock
    this.#tell = tell
  }

  tell(holder: object, update: Notification): void {
    if (this.#told.has(holder)) return void this.#told.set(holder, update)
    if (this.#told.size === 0) this.#clock.after(EVERY_MS, this.#tellAgain)
    this.#told.set(holder, undefined)
    this.#tell(holder, update)
  }

  readonly #tellAgain = (): void => {
    const told = [...this.#told]
    this.#told.clear()
    for (const [holder, update] of told) if (update !== undefined) this.tell(holder, update)
  }
}
