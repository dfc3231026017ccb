import { randomBytes } from 'node:crypto'
import type { HeldBytes } from '../../../transport/backlog.ts'
import { Hold } from '../../../transport/backlog.ts'
import type { EventStream, SseStream } from '../sse-writer.ts'

const MAX_EVENTS = 256
const MAX_EVENTS_OF_STREAM = 128
const MAX_BYTES = 1024 * 1024
/** Of all sessions of a listener together: the room of which they may take one half. */
export const KEPT_EVENTS = 128 * 1024 * 1024
const EVENT_ID = /^([\w-]{8}\.\d{1,15})\.(\d{1,15})$/

/**
 * The last events of one session, for a client that comes back with the id of the last one it read. An id is the
 * session's tag, the stream and the event's number in the session. Beyond its bounds, or where the room of all sessions is
 * short, its oldest events are dropped.
 */
export class EventStore {
  /** Ids of another session are none of ours. */
  readonly #tag = randomBytes(6).toString('base64url')
  readonly #streams = new Map<string, KeptStream>()
  #events: KeptEvent[] = []
  /** By what it says: the last event of each text of which nobody needs an earlier one. */
  #last: Map<Buffer | string, KeptEvent> | undefined
  #bytes = 0
  readonly #hold: Hold
  #lastStream = 0
  #lastEvent = 0
  #isClosed = false

  constructor(held: HeldBytes) {
    this.#hold = new Hold(held)
  }

  /** A new stream, read by `live` for now. */
  begin(live: SseStream): KeptStream {
    const stream = new KeptStream(this, `${this.#tag}.${++this.#lastStream}`, live)
    this.#streams.set(stream.id, stream)
    return stream
  }

  /** The id of an event without content, which nobody has to see twice. */
  mark(stream: KeptStream): string {
    return formatEventId(stream, ++this.#lastEvent)
  }

  /**
   * Keeps a message, where it is not too large, and gives it an id. `isNews` where one that says the same is worth nothing
   * before it, such as a second change of one list: of those the last is kept, and what else was said stays longer.
   */
  keep(stream: KeptStream, message: Buffer | string, isNews = false): KeptEvent {
    const number = ++this.#lastEvent
    const event = createEvent(stream, number, message)
    if (this.#isClosed || event.size > MAX_BYTES) return event
    if (isNews) this.#replace(event)
    this.#push(event)
    this.#makeRoom()
    return event
  }

  #replace(event: KeptEvent): void {
    this.#last ??= new Map()
    const before = this.#last.get(event.message)
    if (before?.stream === event.stream) this.#drop(this.#events.indexOf(before))
    this.#last.set(event.message, event)
  }

  #push(event: KeptEvent): void {
    const { stream } = event
    this.#events.push(event)
    this.#count(event, 1)
    if (stream.kept > MAX_EVENTS_OF_STREAM) this.#drop(this.#events.findIndex(old => old.stream === stream))
  }

  #makeRoom(): void {
    while (this.#isOverfull() || !this.#claim()) this.#drop(0)
  }

  /** True if the newest event was kept. */
  has(event: KeptEvent): boolean {
    return this.#events.at(-1) === event
  }

  /** The events of a stream after one of them, as far as they are kept. */
  since({ stream, after }: Bookmark): KeptEvent[] {
    return this.#events.filter(event => event.stream === stream && event.number > after)
  }

  /** The place that an event id names; undefined when it is not of this session, or its stream is forgotten. */
  find(eventId: string): Bookmark | undefined {
    const [, id = '', number] = EVENT_ID.exec(eventId) ?? []
    const stream = this.#streams.get(id)
    const after = Number(number)
    return stream === undefined ? undefined : { stream, after }
  }

  /** Forgets a stream: half an answer is worse than none. */
  forget(stream: KeptStream): void {
    for (const event of this.#events) if (event.stream === stream) this.#count(event, -1)
    this.#events = this.#events.filter(event => event.stream !== stream)
    this.#remove(stream)
    this.#claim()
  }

  /** The session is over. */
  close(): void {
    this.#isClosed = true
    this.#hold.end()
    this.#bytes = 0
    this.#events = []
    this.#last = undefined
    this.#streams.clear()
  }

  #isOverfull(): boolean {
    return this.#events.length > MAX_EVENTS || this.#bytes > MAX_BYTES
  }

  /** Counts what is kept; false if there is no room for it. */
  #claim(): boolean {
    return this.#hold.claim(this.#bytes)
  }

  #drop(index: number): void {
    const [event] = this.#events.splice(index, 1)
    if (event === undefined) return
    this.#count(event, -1)
    if (event.stream.isOver && event.stream.kept === 0) this.#remove(event.stream)
  }

  #remove(stream: KeptStream): void {
    this.#streams.delete(stream.id)
  }

  #count(event: KeptEvent, sign: 1 | -1): void {
    event.stream.kept += sign
    this.#bytes += sign * event.size
    if (sign < 0 && this.#last?.get(event.message) === event) this.#last.delete(event.message)
  }
}

function formatEventId(stream: KeptStream, number: number): string {
  return `${stream.id}.${number}`
}

function createEvent(stream: KeptStream, number: number, message: Buffer | string): KeptEvent {
  const size = typeof message === 'string' ? Buffer.byteLength(message) : message.length
  return { id: formatEventId(stream, number), number, stream, message, size }
}

/** A stream that its reader may leave and come back to. What is sent meanwhile is kept, within bounds. */
export class KeptStream implements EventStream {
  /** Begins the ids of its events. */
  readonly id: string
  readonly isKept = true
  /** Count of its events that are kept; the store keeps it. */
  kept = 0
  readonly #store: EventStore
  #live: SseStream
  #isOver = false

  constructor(store: EventStore, id: string, live: SseStream) {
    this.#store = store
    this.id = id
    this.#live = live
  }

  /** True if somebody reads it now. */
  get isOpen(): boolean {
    return this.#live.isOpen
  }

  /** True if its last message was sent. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Gives the reader an id to come back with before there is anything to read. */
  prime(): void {
    this.#live.prime(this.#store.mark(this))
  }

  retryAfter(ms: number): void {
    if (!this.#isOver) this.#live.retryAfter(ms)
  }

  /** Sends a message; what its reader misses now, it may still come back for. */
  notify(message: string, isNews = false): boolean {
    if (this.#isOver) return false
    const event = this.#store.keep(this, message, isNews)
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

interface KeptEvent {
  readonly id: string
  readonly number: number
  readonly stream: KeptStream
  readonly message: Buffer | string
  readonly size: number
}

/** A place in a stream to go on from. */
interface Bookmark {
  readonly stream: KeptStream
  /** The number of the last event that was read. */
  readonly after: number
}
