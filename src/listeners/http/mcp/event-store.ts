import { randomBytes } from 'node:crypto'
import type { MemoryBudget } from '../../../net/backlog.ts'
import { MemoryShare } from '../../../net/backlog.ts'
import type { EventStreamWriter, SseStream } from '../sse-writer.ts'

const MAX_EVENTS = 256
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
  readonly #hold: MemoryShare
  #events: StoredEvent[] = []
  #bytes = 0
  #lastStream = 0
  #lastEvent = 0

  constructor(memory: MemoryBudget) {
    this.#hold = new MemoryShare(memory)
  }

  /** Creates a stream with its first reader. */
  createStream(live: SseStream): ResumableStream {
    const stream = new ResumableStream(this, `${this.#tag}.${++this.#lastStream}`, live)
    this.#streams.set(stream.id, stream)
    return stream
  }

  createId(stream: ResumableStream): string {
    return `${stream.id}.${++this.#lastEvent}`
  }

  /** Gives a message an id, and stores it unless it is too large. */
  add(stream: ResumableStream, message: Buffer | string): { readonly id: string; readonly isStored: boolean } {
    const id = this.createId(stream)
    const event = { id, number: this.#lastEvent, stream, message, size: Buffer.byteLength(message) }
    if (event.size > MAX_BYTES) return { id, isStored: false }
    this.#events.push(event)
    this.#bytes += event.size
    while (this.#events.length > MAX_EVENTS || this.#bytes > MAX_BYTES || !this.#hold.claim(this.#bytes))
      this.#dropOldest()
    return { id, isStored: this.#events.at(-1) === event }
  }

  /** A stream's stored events after a position. */
  listAfter({ stream, after }: StreamPosition): StoredEvent[] {
    return this.#events.filter(event => event.stream === stream && event.number > after)
  }

  /** Parses an event id; undefined if it is from another session, or the stream was removed. */
  find(eventId: string): StreamPosition | undefined {
    const [, id = '', number] = EVENT_ID.exec(eventId) ?? []
    const stream = this.#streams.get(id)
    return stream === undefined ? undefined : { stream, after: Number(number) }
  }

  /** Removes a stream: a partial answer is useless. */
  forget(stream: ResumableStream): void {
    this.#events = this.#events.filter(event => event.stream !== stream)
    this.#bytes = this.#events.reduce((sum, { size }) => sum + size, 0)
    this.#hold.claim(this.#bytes)
    this.#streams.delete(stream.id)
  }

  /** Called when the session ends. */
  close(): void {
    this.#hold.release()
    this.#bytes = 0
    this.#events = []
    this.#streams.clear()
  }

  #dropOldest(): void {
    const event = this.#events.shift()
    if (event === undefined) return
    this.#bytes -= event.size
    const { stream } = event
    if (stream.isOver && this.#events.every(other => other.stream !== stream)) this.#streams.delete(stream.id)
  }
}

/** A stream that its reader can leave and resume. Messages in between are stored, within limits. */
export class ResumableStream implements EventStreamWriter {
  /** Event id prefix. */
  readonly id: string
  readonly isResumable = true
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
    this.#live.sendPrimingEvent(this.#store.createId(this))
  }

  retryAfter(ms: number): void {
    if (!this.#isOver) this.#live.retryAfter(ms)
  }

  /** Sends a message, and stores it for a reader that resumes. */
  notify(message: string): boolean {
    if (this.#isOver) return false
    const { id, isStored } = this.#store.add(this, message)
    return this.#live.notify(message, id) || isStored
  }

  send(message: Buffer | string): boolean {
    if (this.#isOver) return false
    const { id, isStored } = this.#store.add(this, message)
    return this.#live.send(message, id) || isStored
  }

  end(message?: Buffer | string): void {
    if (this.#isOver) return
    this.#isOver = true
    const last = message === undefined ? undefined : this.#store.add(this, message)
    this.#live.end(message, last?.id)
    const isEmpty = last === undefined && this.#store.listAfter({ stream: this, after: 0 }).length === 0
    if (isEmpty || last?.isStored === false) this.#store.forget(this)
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
