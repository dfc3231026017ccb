import type { Clock } from '../../src/plugin.ts'
import type { PageUser } from './page-access.ts'
import type { HideSecrets } from './api.ts'
import { safeJson } from './api.ts'
import type { CallRow, Event } from './types.ts'

const MAX_STREAMS = 64
/** Maximum streams per caller. */
const MAX_STREAMS_PER_CALLER = 16
/** Maximum queued events for a slow reader. */
const MAX_QUEUED_EVENTS = 256
const HEARTBEAT_MS = 15_000
/** Interval between call events. */
const CALL_EVENT_INTERVAL_MS = 1000

export class PageStreams {
  readonly #clock: Clock
  readonly #hide: HideSecrets
  readonly #open = new Set<PageEventStream>()
  #newest: CallRow | undefined
  #count = 0
  #isThrottled = false

  constructor(clock: Clock, hide: HideSecrets) {
    this.#clock = clock
    this.#hide = hide
  }

  /** Opens a stream; undefined if the limit is reached. */
  openStream(reader: PageUser): PageEventStream | undefined {
    const own = [...this.#open].filter(({ share }) => share === reader.share)
    if (this.#open.size >= MAX_STREAMS || own.length >= MAX_STREAMS_PER_CALLER) return undefined
    const stream = new PageEventStream(reader, this.#clock, () => this.#open.delete(stream))
    this.#open.add(stream)
    return stream
  }

  publish(event: Event): void {
    if (this.#open.size === 0) return
    const text = `data: ${safeJson(event, this.#hide)}\n\n`
    for (const stream of this.#open) stream.add(text)
  }

  /** Emits a call event; at most one per second, with the call count. */
  emitCall(call: CallRow): void {
    if (this.#open.size === 0) return
    this.#newest = call
    this.#count++
    if (!this.#isThrottled) this.#emitCalls()
  }

  #emitCalls(): void {
    const [call, count] = [this.#newest, this.#count]
    if (call === undefined) return
    this.#newest = undefined
    this.#count = 0
    this.#isThrottled = true
    this.publish({ type: 'call', call, count })
    this.#clock.after(CALL_EVENT_INTERVAL_MS, () => {
      this.#isThrottled = false
      this.#emitCalls()
    })
  }

  endAll(): void {
    for (const stream of [...this.#open]) stream.end()
  }
}

/** One stream. Drops and counts events if the reader is slow. */
export class PageEventStream implements AsyncIterable<string> {
  readonly share: string
  readonly #onClose: () => void
  // Browsers reconnect after two seconds.
  #waiting: string[] = ['retry: 2000\n\n']
  #droppedCount = 0
  #isOver = false
  #stopHeartbeat: () => void = () => undefined
  #wake: () => void = () => undefined

  constructor(reader: PageUser, clock: Clock, closed: () => void) {
    this.share = reader.share
    this.#onClose = closed
    this.#scheduleHeartbeat(reader, clock)
  }

  add(text: string): void {
    if (this.#waiting.length >= MAX_QUEUED_EVENTS) this.#droppedCount++
    else this.#waiting.push(text)
    this.#wake()
  }

  end(): void {
    this.#isOver = true
    this.#stopHeartbeat()
    this.#onClose()
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    try {
      while (!this.#isOver) {
        const text = this.#takeQueued()
        if (text !== '') yield text
        else await new Promise<void>(resolve => (this.#wake = resolve))
      }
    } finally {
      this.end()
    }
  }

  #takeQueued(): string {
    const missed: Event = { type: 'missed', count: this.#droppedCount }
    const text = this.#waiting.join('') + (this.#droppedCount > 0 ? `data: ${JSON.stringify(missed)}\n\n` : '')
    this.#waiting = []
    this.#droppedCount = 0
    return text
  }

  /** Keeps the stream alive, and ends it when the user loses access. */
  #scheduleHeartbeat(reader: PageUser, clock: Clock): void {
    this.#stopHeartbeat = clock.after(HEARTBEAT_MS, () => {
      void reader
        .isAllowed()
        .catch(() => false)
        .then(isAllowed => {
          if (!isAllowed) return this.end()
          if (this.#isOver) return
          this.add(':\n\n')
          this.#scheduleHeartbeat(reader, clock)
        })
    })
  }
}
