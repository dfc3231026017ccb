import type { ServerResponse } from 'node:http'
import type { Clock } from '../../api/index.ts'
import { replaceLineEnds } from '../../util/messages.ts'
import type { MemoryBudget, MemoryShare } from '../../net/backlog.ts'
import { createHold, MAX_UNREAD_BYTES, UNCOUNTED_BYTES } from '../../net/backlog.ts'
import { Ticker } from '../../util/clock.ts'

/** Droppable messages are skipped above this. */
const MAX_UNSENT = 1024 * 1024
const KEEP_ALIVE_MS = 15_000
/** Reconnect delay for clients. */
const RETRY_MS = 1000
const HEAD = Buffer.from('event: message\ndata: ')
const TAIL = Buffer.from('\n\n')

const SSE_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
})

/** Open event streams of a listener, kept alive by comments. */
export class SseStreams {
  readonly #memory: MemoryBudget
  readonly #open = new Set<SseStream>()
  readonly #ticker: Ticker

  constructor(clock: Clock, memory: MemoryBudget) {
    this.#memory = memory
    this.#ticker = new Ticker(
      clock,
      () => KEEP_ALIVE_MS,
      () => {
        for (const stream of this.#open) stream.keepAlive()
        return this.#open.size > 0
      },
    )
  }

  /** Starts an event stream on an unsent response. */
  open(response: ServerResponse, headers?: Readonly<Record<string, string>>): SseStream {
    response.writeHead(200, headers === undefined ? SSE_HEADERS : { ...SSE_HEADERS, ...headers })
    response.flushHeaders()
    const stream = new SseStream(response, this.#memory)
    this.#open.add(stream)
    response.on('close', () => this.#open.delete(stream))
    this.#ticker.arm()
    return stream
  }

  stop(): void {
    this.#ticker.stop()
  }
}

export interface EventStreamWriter {
  /** True if the reader can resume. */
  readonly isResumable: boolean
  readonly isOpen: boolean
  /** Sends a droppable message; false if it is dropped. */
  notify(message: string): boolean
  /** Sends a message; false if it can never be read. */
  send(message: Buffer | string): boolean
  end(message?: Buffer | string): void
  /** Sets the client's reconnect delay after the end. */
  retryAfter(ms: number): void
}

/** An event stream to one reader. */
export class SseStream implements EventStreamWriter {
  readonly isResumable = false
  readonly #response: ServerResponse
  readonly #hold: MemoryShare

  constructor(response: ServerResponse, memory: MemoryBudget) {
    this.#response = response
    this.#hold = createHold(response, memory)
    response.on('drain', () => this.#hold.setUnsent(response.writableLength))
  }

  get isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded
  }

  notify(message: string, id?: string): boolean {
    const waiting = this.#response.writableLength
    if (waiting > MAX_UNSENT || (waiting > UNCOUNTED_BYTES && this.#hold.isHalfFull)) return false
    return this.send(message, id)
  }

  send(message: Buffer | string, id?: string): boolean {
    return this.#write(formatEvent(message, id))
  }

  /** Sends an event id without a message (2025-11-25, resumability). */
  sendPrimingEvent(id: string): void {
    this.#write(`id: ${id}\nretry: ${RETRY_MS}\ndata: \n\n`)
  }

  retryAfter(ms: number): void {
    this.#write(`retry: ${ms}\n\n`)
  }

  /** Sends stored events in one write, so that the reader does not count as slow. */
  replay(events: readonly { readonly id: string; readonly message: Buffer | string }[]): void {
    if (events.length === 0) return
    this.#write(Buffer.concat(events.map(({ message, id }) => Buffer.from(formatEvent(message, id)))))
  }

  keepAlive(): void {
    if (this.isOpen && this.#response.writableLength <= MAX_UNSENT) this.#response.write(':\n\n')
  }

  end(message?: Buffer | string, id?: string): void {
    if (!this.isOpen) return
    this.#response.end(message === undefined ? '' : formatEvent(message, id))
    this.#hold.setUnsent(this.#response.writableLength)
  }

  /** Ends the stream without waiting for a slow reader. */
  abort(): void {
    if (this.#response.writableLength > 0) this.#response.destroy()
    else this.end()
  }

  #write(framed: Buffer | string): boolean {
    if (!this.isOpen) return false
    this.#response.write(framed)
    const unsent = this.#response.writableLength
    this.#hold.setUnsent(unsent)
    if (unsent > MAX_UNREAD_BYTES) this.#response.destroy()
    return true
  }
}

function formatEvent(message: Buffer | string, id?: string): Buffer | string {
  // Messages encoded here contain no line breaks.
  if (typeof message === 'string')
    return id === undefined ? `event: message\ndata: ${message}\n\n` : `id: ${id}\nevent: message\ndata: ${message}\n\n`
  const head = id === undefined ? HEAD : Buffer.from(`id: ${id}\nevent: message\ndata: `)
  return Buffer.concat([head, replaceLineEnds(message), TAIL])
}
