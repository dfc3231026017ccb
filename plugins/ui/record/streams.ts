import type { Clock } from '../../../src/plugin.ts'
import type { Reader } from '../access/admission.ts'
import type { Event } from '../types.ts'
import { type Hide, safeJson } from '../safe-json.ts'

const MAX_STREAMS = 64
/** Streams of one caller, or of all who are the owner. */
const MAX_OF_CALLER = 16
/** Events that wait for one that does not read. */
const MAX_WAITING = 256
const BEAT_MS = 15_000

/** Streams of events that are open. */
export class Streams {
  readonly #clock: Clock
  readonly #hide: Hide
  readonly #open = new Set<EventStream>()

  constructor(clock: Clock, hide: Hide) {
    this.#clock = clock
    this.#hide = hide
  }

  get isHeard(): boolean {
    return this.#open.size > 0
  }

  /** A stream for a reader; undefined where there are too many. */
  open(reader: Reader): EventStream | undefined {
    const own = [...this.#open].filter(({ share }) => share === reader.share)
    if (this.#open.size >= MAX_STREAMS || own.length >= MAX_OF_CALLER) return undefined
    const stream = new EventStream(reader, this.#clock, () => this.#open.delete(stream))
    this.#open.add(stream)
    return stream
  }

  tell(event: Event): void {
    if (this.#open.size === 0) return
    const text = `data: ${safeJson(event, this.#hide)}\n\n`
    for (const stream of this.#open) stream.add(text)
  }

  end(): void {
    for (const stream of [...this.#open]) stream.end()
  }
}

/** One stream: what waits to be read is bounded, and one that nobody reads costs no more. */
export class EventStream implements AsyncIterable<string> {
  readonly share: string
  readonly #reader: Reader
  readonly #clock: Clock
  readonly #closed: () => void
  // A browser that loses the stream comes back after two seconds.
  #waiting: string[] = ['retry: 2000\n\n']
  #missed = 0
  #isOver = false
  #stopBeat: () => void = () => undefined
  #wake: () => void = () => undefined

  constructor(reader: Reader, clock: Clock, closed: () => void) {
    this.share = reader.share
    this.#reader = reader
    this.#clock = clock
    this.#closed = closed
    this.#beat()
  }

  add(text: string): void {
    if (this.#waiting.length >= MAX_WAITING) this.#missed++
    else this.#waiting.push(text)
    this.#wake()
  }

  end(): void {
    this.#isOver = true
    this.#stopBeat()
    this.#closed()
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    try {
      while (!this.#isOver) {
        const text = this.#taken()
        if (text !== '') yield text
        else await new Promise<void>(resolve => (this.#wake = resolve))
      }
    } finally {
      this.end()
    }
  }

  #taken(): string {
    const missed: Event = { type: 'missed', count: this.#missed }
    const text = this.#waiting.join('') + (this.#missed > 0 ? `data: ${JSON.stringify(missed)}\n\n` : '')
    this.#waiting = []
    this.#missed = 0
    return text
  }

  #goOn(): void {
    if (this.#isOver) return
    this.add(':\n\n')
    this.#beat()
  }

  /** Shows proxies that somebody is there, and finds out whether the reader still may listen. */
  #beat(): void {
    this.#stopBeat = this.#clock.after(BEAT_MS, () => {
      void this.#reader.isIn().then(
        isIn => (isIn ? this.#goOn() : this.end()),
        () => this.end(),
      )
    })
  }
}
