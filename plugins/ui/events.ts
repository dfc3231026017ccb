import type { Clock } from '../../src/plugin.ts'
import type { Reader } from './admission.ts'
import type { Hide } from './api.ts'
import { safeJson } from './api.ts'
import type { CallRow, Event } from './types.ts'

const MAX_STREAMS = 64
/** Streams of one caller. */
const MAX_OF_CALLER = 16
/** Events that wait for a slow reader. */
const MAX_WAITING = 256
const HEARTBEAT_MS = 15_000
/** Time between two events about calls. */
const CALLS_MS = 1000

/** Open streams of events. */
export class Streams {
  readonly #clock: Clock
  readonly #hide: Hide
  readonly #open = new Set<EventStream>()
  #newest: CallRow | undefined
  #count = 0
  #isThrottled = false

  constructor(clock: Clock, hide: Hide) {
    this.#clock = clock
    this.#hide = hide
  }

  /** Opens a stream; undefined if there are too many. */
  open(reader: Reader): EventStream | undefined {
    const own = [...this.#open].filter(({ share }) => share === reader.share)
    if (this.#open.size >= MAX_STREAMS || own.length >= MAX_OF_CALLER) return undefined
    const stream = new EventStream(reader, this.#clock, () => this.#open.delete(stream))
    this.#open.add(stream)
    return stream
  }

  emit(event: Event): void {
    if (this.#open.size === 0) return
    const text = `data: ${safeJson(event, this.#hide)}\n\n`
    for (const stream of this.#open) stream.add(text)
  }

  /** Emits an event about a call; of many calls one a second, with their count. */
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
    this.emit({ type: 'call', call, count })
    this.#clock.after(CALLS_MS, () => {
      this.#isThrottled = false
      this.#emitCalls()
    })
  }

  end(): void {
    for (const stream of [...this.#open]) stream.end()
  }
}

/** One stream. Events that a slow reader has no room for are counted and left out. */
export class EventStream implements AsyncIterable<string> {
  readonly share: string
  readonly #closed: () => void
  // A browser that loses the stream reconnects after two seconds.
  #waiting: string[] = ['retry: 2000\n\n']
  #missed = 0
  #isOver = false
  #stopHeartbeat: () => void = () => undefined
  #wake: () => void = () => undefined

  constructor(reader: Reader, clock: Clock, closed: () => void) {
    this.share = reader.share
    this.#closed = closed
    this.#beat(reader, clock)
  }

  add(text: string): void {
    if (this.#waiting.length >= MAX_WAITING) this.#missed++
    else this.#waiting.push(text)
    this.#wake()
  }

  end(): void {
    this.#isOver = true
    this.#stopHeartbeat()
    this.#closed()
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    try {
      while (!this.#isOver) {
        const text = this.#take()
        if (text !== '') yield text
        else await new Promise<void>(resolve => (this.#wake = resolve))
      }
    } finally {
      this.end()
    }
  }

  #take(): string {
    const missed: Event = { type: 'missed', count: this.#missed }
    const text = this.#waiting.join('') + (this.#missed > 0 ? `data: ${JSON.stringify(missed)}\n\n` : '')
    this.#waiting = []
    this.#missed = 0
    return text
  }

  /** Keeps proxies from closing the stream, and ends it once the reader may no longer read. */
  #beat(reader: Reader, clock: Clock): void {
    this.#stopHeartbeat = clock.after(HEARTBEAT_MS, () => {
      void reader
        .isAllowed()
        .catch(() => false)
        .then(isAllowed => {
          if (!isAllowed) return this.end()
          if (this.#isOver) return
          this.add(':\n\n')
          this.#beat(reader, clock)
        })
    })
  }
}
