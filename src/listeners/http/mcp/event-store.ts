import { randomBytes } from 'node:crypto'
import type { HeldBytes } from '../../../transport/backlog.ts'
import { Hold } from '../../../transport/backlog.ts'
import type { EventStreamWriter, SseStream } from '../sse-writer.ts'

const MAX_EVENTS = 256
const MAX_STREAM_EVENTS = 128
const MAX_BYTES = 1024 * 1024
/** Of all sessions of a listener together: the room of which they may take one half. */
export const MAX_STORED_BYTES = 128 * 1024 * 1024
const EVENT_ID = /^([\w-]{8}\.\d{1,15})\.(\d{1,15})$/

/**
 * The last events of one session, for a client that comes back with the id of the last one it read. An id is the
 * session's tag, the stream and the event's number in the session. Beyond its bounds, or where the room of all sessions is
 * short, its oldest events are dropped.
 */
export class EventStore {
  /** Ids of another session are none of ours. */
  readonly #tag = randomBytes(6).toString('base64url')
  readonly #streams = new Map<string, ResumableStream>()
  #events: StoredEvent[] = []
  /** By what it says: the last event of each text of which nobody needs an earlier one. */
  #latest: Map<Buffer | string, StoredEvent> | undefined
  #bytes = 0
  readonly #hold: Hold
  #lastStream = 0
  #lastEvent = 0
  #isClosed = false

  constructor(held: HeldBytes) {
    this.#hold = new Hold(held)
  }

  /** A new stream, read by `live` for now. */
  createStream(live: SseStream): ResumableStream {
    const stream = new ResumableStream(this, `${this.#tag}.${++this.#lastStream}`, live)
    this.#streams.set(stream.id, stream)
    return stream
  }

  /** The id of an event without content, which nobody has to see twice. */
  createEventId(stream: ResumableStream): string {
    return formatEventId(stream, ++this.#lastEvent)
  }

  /**
   * Keeps a message, where it is not too large, and gives it an id. `isNews` where one that says the same is worth nothing
   * before it, such as a second change of one list: of those the last is kept, and what else was said stays longer.
   */
  store(stream: ResumableStream, message: Buffer | string, isNews = false): StoredEvent {
    const number = ++this.#lastEvent
    const event = createEvent(stream, number, message)
    if (this.#isClosed || event.size > MAX_BYTES) return event
    if (isNews) this.#replaceEqual(event)
    this.#push(event)
    this.#evict()
    return event
  }

  #replaceEqual(event: StoredEvent): void {
    this.#latest ??= new Map()
    const before = this.#latest.get(event.message)
    if (before?.stream === event.stream) this.#drop(this.#events.indexOf(before))
    this.#latest.set(event.message, event)
  }

  #push(event: StoredEvent): void {
    const { stream } = event
    this.#events.push(event)
    this.#count(event, 1)
    if (stream.storedEvents > MAX_STREAM_EVENTS)
      this.#drop(this.#events.findIndex(old => old.stream === stream))
  }

  #evict(): void {
    while (this.#isOverLimit() || !this.#claim()) this.#drop(0)
  }

  /** True if the newest event was kept. */
  has(event: StoredEvent): boolean {
    return this.#events.at(-1) === event
  }

  /** The events of a stream after one of them, as far as they are kept. */
  listAfter({ stream, after }: StreamPosition): StoredEvent[] {
    return this.#events.filter(event => event.stream === stream && event.number > after)
  }

  /** The place that an event id names; undefined when it is not of this session, or its stream is forgotten. */
  find(eventId: string): StreamPosition | undefined {
    const [, id = '', number] = EVENT_ID.exec(eventId) ?? []
    const stream = this.#streams.get(id)
    const after = Number(number)
    return stream === undefined ? undefined : { stream, after }
  }

  /** Forgets a stream: half an answer is worse than none. */
  forget(stream: ResumableStream): void {
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
    this.#latest = undefined
    this.#streams.clear()
  }

  #isOverLimit(): boolean {
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
    if (event.stream.isOver && event.stream.storedEvents === 0) this.#remove(event.stream)
  }

  #remove(stream: ResumableStream): void {
    this.#streams.delete(stream.id)
  }

  #count(event: StoredEvent, sign: 1 | -1): void {
    event.stream.storedEvents += sign
    this.#bytes += sign * event.size
    if (sign < 0 && this.#latest?.get(event.message) === event) this.#latest.delete(event.message)
  }
}

function formatEventId(stream: ResumableStream, number: number): string {
  return `${stream.id}.${number}`
}

function createEvent(stream: ResumableStream, number: number, message: Buffer | string): StoredEvent {
  const size = typeof message === 'string' ? Buffer.byteLength(message) : message.length
  return { id: formatEventId(stream, number), number, stream, message, size }
}

/** A stream that its reader may leave and come back to. What is sent meanwhile is kept, within bounds. */
export class ResumableStream implements EventStreamWriter {
  /** Begins the ids of its events. */
  readonly id: string
  readonly isResumable = true
  /** Count of its events that are kept; the store keeps it. */
  storedEvents = 0
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
    this.#live.prime(this.#store.createEventId(this))
  }

  retryAfter(ms: number): void {
    if (!this.#isOver) this.#live.retryAfter(ms)
  }

  /** Sends a message; what its reader misses now, it may still come back for. */
  notify(message: string, isNews = false): boolean {
    if (this.#isOver) return false
    const event = this.#store.store(this, message, isNews)
    return this.#live.notifyWithId(message, event.id) || this.#store.has(event)
  }

  send(message: Buffer | string): boolean {
    if (this.#isOver) return false
    const event = this.#store.store(this, message)
    return this.#live.send(message, event.id) || this.#store.has(event)
  }

  end(message?: Buffer | string): void {
    if (this.#isOver) return
    this.#isOver = true
    const last = message === undefined ? undefined : this.#store.store(this, message)
    this.#live.end(message, last?.id)
    const isWhole = last === undefined ? this.storedEvents > 0 : this.#store.has(last)
    if (!isWhole) this.#store.forget(this)
  }

  /** Goes on with another reader, who has read all up to an event. The one before has left, whether we saw it or not. */
  resume(live: SseStream, after: number): void {
    this.#live.abort()
    this.#live = live
    live.replay(this.#store.listAfter({ stream: this, after }))
    if (this.#isOver) live.end()
  }
}

interface StoredEvent {
  readonly id: string
  readonly number: number
  readonly stream: ResumableStream
  readonly message: Buffer | string
  readonly size: number
}

/** A place in a stream to go on from. */
interface StreamPosition {
  readonly stream: ResumableStream
  /** The number of the last event that was read. */
  readonly after: number
}
