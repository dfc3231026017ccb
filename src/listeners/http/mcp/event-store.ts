import { randomBytes } from 'node:crypto'
import type { MemoryBudget } from '../../../net/backlog.ts'
import { MemoryShare } from '../../../net/backlog.ts'
import type { EventStreamWriter, SseStream } from '../sse-writer.ts'

const MAX_EVENTS = 256
const MAX_STREAM_EVENTS = 128
const MAX_BYTES = 1024 * 1024
/** Shared by all sessions of a listener; they may use half of it. */
export const MAX_STORED_BYTES = 128 * 1024 * 1024
const EVENT_ID = /^([\w-]{8}\.\d{1,15})\.(\d{1,15})$/

/**
 * Recent events of one session, for resumption by `Last-Event-ID`. An id holds the session's tag, stream number and
 * event number. The oldest events are dropped above the limits.
 */
export class EventStore {
  /** Random, so that ids from other sessions do not match. */
  readonly #tag = randomBytes(6).toString('base64url')
  readonly #streams = new Map<string, ResumableStream>()
  #events: StoredEvent[] = []
  /** Latest event per text, for messages that make earlier equal ones obsolete. */
  #latest: Map<Buffer | string, StoredEvent> | undefined
  #bytes = 0
  readonly #hold: MemoryShare
  #lastStream = 0
  #lastEvent = 0
  #isClosed = false

  constructor(memory: MemoryBudget) {
    this.#hold = new MemoryShare(memory)
  }

  /** Creates a stream with its first reader. */
  createStream(live: SseStream): ResumableStream {
    const stream = new ResumableStream(this, `${this.#tag}.${++this.#lastStream}`, live)
    this.#streams.set(stream.id, stream)
    return stream
  }

  /** Id for an event without content. */
  createEventId(stream: ResumableStream): string {
    return formatEventId(stream, ++this.#lastEvent)
  }

  /**
   * Stores a message unless it is too large, and gives it an id. `isNews` drops an earlier equal message, such as
   * `list_changed`, to save space.
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
    this.#countBytes(event, 1)
    if (stream.storedEvents > MAX_STREAM_EVENTS) this.#drop(this.#events.findIndex(old => old.stream === stream))
  }

  #evict(): void {
    while (this.#isOverLimit() || !this.#claim()) this.#drop(0)
  }

  /** True if the event, the newest, was stored. */
  isStored(event: StoredEvent): boolean {
    return this.#events.at(-1) === event
  }

  /** A stream's stored events after a position. */
  listAfter({ stream, after }: StreamPosition): StoredEvent[] {
    return this.#events.filter(event => event.stream === stream && event.number > after)
  }

  /** Parses an event id; undefined if it is from another session, or the stream was removed. */
  find(eventId: string): StreamPosition | undefined {
    const [, id = '', number] = EVENT_ID.exec(eventId) ?? []
    const stream = this.#streams.get(id)
    const after = Number(number)
    return stream === undefined ? undefined : { stream, after }
  }

  /** Removes a stream: a partial answer is useless. */
  forget(stream: ResumableStream): void {
    for (const event of this.#events) if (event.stream === stream) this.#countBytes(event, -1)
    this.#events = this.#events.filter(event => event.stream !== stream)
    this.#remove(stream)
    this.#claim()
  }

  /** Called when the session ends. */
  close(): void {
    this.#isClosed = true
    this.#hold.release()
    this.#bytes = 0
    this.#events = []
    this.#latest = undefined
    this.#streams.clear()
  }

  #isOverLimit(): boolean {
    return this.#events.length > MAX_EVENTS || this.#bytes > MAX_BYTES
  }

  /** Claims the bytes in use; false if the shared limit is reached. */
  #claim(): boolean {
    return this.#hold.claim(this.#bytes)
  }

  #drop(index: number): void {
    const [event] = this.#events.splice(index, 1)
    if (event === undefined) return
    this.#countBytes(event, -1)
    if (event.stream.isOver && event.stream.storedEvents === 0) this.#remove(event.stream)
  }

  #remove(stream: ResumableStream): void {
    this.#streams.delete(stream.id)
  }

  #countBytes(event: StoredEvent, sign: 1 | -1): void {
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

/** A stream that its reader can leave and resume. Messages in between are stored, within limits. */
export class ResumableStream implements EventStreamWriter {
  /** Event id prefix. */
  readonly id: string
  readonly isResumable = true
  /** Stored events, updated by the store. */
  storedEvents = 0
  readonly #store: EventStore
  #live: SseStream
  #isOver = false

  constructor(store: EventStore, id: string, live: SseStream) {
    this.#store = store
    this.id = id
    this.#live = live
  }

  /** True if a reader is connected. */
  get isOpen(): boolean {
    return this.#live.isOpen
  }

  /** True after the last message. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Sends an event id ahead of any message. */
  prime(): void {
    this.#live.sendPrimingEvent(this.#store.createEventId(this))
  }

  retryAfter(ms: number): void {
    if (!this.#isOver) this.#live.retryAfter(ms)
  }

  /** Sends a message, and stores it for a reader that resumes. */
  notify(message: string, isNews = false): boolean {
    if (this.#isOver) return false
    const event = this.#store.store(this, message, isNews)
    return this.#live.notifyWithId(message, event.id) || this.#store.isStored(event)
  }

  send(message: Buffer | string): boolean {
    if (this.#isOver) return false
    const event = this.#store.store(this, message)
    return this.#live.send(message, event.id) || this.#store.isStored(event)
  }

  end(message?: Buffer | string): void {
    if (this.#isOver) return
    this.#isOver = true
    const last = message === undefined ? undefined : this.#store.store(this, message)
    this.#live.end(message, last?.id)
    const isWhole = last === undefined ? this.storedEvents > 0 : this.#store.isStored(last)
    if (!isWhole) this.#store.forget(this)
  }

  /** Attaches a new reader that has read up to an event, and detaches the previous one. */
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

interface StreamPosition {
  readonly stream: ResumableStream
  /** Last read event number. */
  readonly after: number
}
