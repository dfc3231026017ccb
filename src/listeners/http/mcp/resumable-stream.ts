import type { EventStream, SseStream } from '../sse-writer.ts'

/** Where the events of streams are kept. */
export interface EventRecorder {
  mark(stream: KeptStream): string
  keep(stream: KeptStream, message: Buffer | string): KeptEvent
  has(event: KeptEvent): boolean
  since(bookmark: Bookmark): KeptEvent[]
  forget(stream: KeptStream): void
}

/** A stream that its reader may leave and come back to. What is said meanwhile is kept, within bounds. */
export class KeptStream implements EventStream {
  readonly number: number
  readonly isKept = true
  /** How many of its events are kept; the store counts them. */
  kept = 0
  readonly #store: EventRecorder
  #live: SseStream
  #isOver = false

  constructor(store: EventRecorder, number: number, live: SseStream) {
    this.#store = store
    this.number = number
    this.#live = live
  }

  /** Whether somebody reads it now. */
  get isOpen(): boolean {
    return this.#live.isOpen
  }

  /** Whether all has been said. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Gives the reader an id to come back with before there is anything to read. */
  prime(): void {
    this.#live.prime(this.#store.mark(this))
  }

  /** What its reader misses now, it may still come back for. */
  tell(message: string): boolean {
    if (this.#isOver) return false
    const event = this.#store.keep(this, message)
    return this.#live.tell(message, event.id) || this.#store.has(event)
  }

  send(message: Buffer | string): boolean {
    if (this.#isOver) return false
    const event = this.#store.keep(this, message)
    return this.#live.send(message, event.id) || this.#store.has(event)
  }

  end(message?: Buffer | string): void {
    if (this.#isOver) return
    this.#isOver = true
    const last = message === undefined ? undefined : this.#store.keep(this, message)
    this.#live.end(message, last?.id)
    const isWhole = last === undefined ? this.kept > 0 : this.#store.has(last)
    if (!isWhole) this.#store.forget(this)
  }

  /** Goes on with another reader, who has read all up to an event. The one before has left, whether we saw it or not. */
  resume(live: SseStream, after: number): void {
    this.#live.cut()
    this.#live = live
    live.replay(this.#store.since({ stream: this, after }))
    if (this.#isOver) live.end()
  }
}

export interface KeptEvent {
  readonly id: string
  readonly number: number
  readonly stream: KeptStream
  readonly message: Buffer | string
  readonly size: number
}

/** A place in a stream to go on from. */
export interface Bookmark {
  readonly stream: KeptStream
  /** The number of the last event that was read. */
  readonly after: number
}
