import type { ServerResponse } from 'node:http'
import type { Clock } from '../../api/index.ts'
import { onOneLine } from '../../transport/line-splitter.ts'
import type { HeldBytes } from '../../transport/backlog.ts'
import { Hold, MAX_BEHIND, SMALL } from '../../transport/backlog.ts'
import { Ticker } from '../../util/clock.ts'

/** A reader with more than this unsent misses what may be missed. */
const MAX_UNSENT = 1024 * 1024
const KEEP_ALIVE_MS = 15_000
/** Time that a client should wait before it comes back to a stream that broke. */
const RETRY_MS = 1000
const HEAD = Buffer.from('event: message\ndata: ')
const TAIL = Buffer.from('\n\n')

export const SSE_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
})

/** The open streams of a listener, kept alive by a comment now and then. */
export class SseStreams {
  readonly #held: HeldBytes
  readonly #open = new Set<SseStream>()
  readonly #ticker: Ticker

  constructor(clock: Clock, held: HeldBytes) {
    this.#held = held
    this.#ticker = new Ticker(
      clock,
      () => KEEP_ALIVE_MS,
      () => {
        for (const stream of this.#open) stream.keepAlive()
        return this.#open.size > 0
      },
    )
  }

  /** Starts an event stream on a response that has sent nothing yet. */
  open(response: ServerResponse, headers?: Readonly<Record<string, string>>): SseStream {
    response.writeHead(200, headers === undefined ? SSE_HEADERS : { ...SSE_HEADERS, ...headers })
    response.flushHeaders()
    const stream = new SseStream(response, this.#held)
    this.#open.add(stream)
    response.on('close', () => this.#open.delete(stream))
    this.#ticker.arm()
    return stream
  }

  stop(): void {
    this.#ticker.stop()
  }
}

/** A way for messages one after the other, until the last. */
export interface EventStreamWriter {
  /** True if its reader may leave and come back. */
  readonly isResumable: boolean
  readonly isOpen: boolean
  /** Sends one message that may be missed; false when it will be. `isNews` where nobody needs an earlier one of the same text. */
  notify(message: string, isNews?: boolean): boolean
  /** Sends one message; false when nobody will ever read it. */
  send(message: Buffer | string): boolean
  /** Ends the stream, with a last message where there is one. */
  end(message?: Buffer | string): void
  /** Tells the reader after how many milliseconds it should come back once the stream has ended. */
  retryAfter(ms: number): void
}

/** One event stream to one reader. */
export class SseStream implements EventStreamWriter {
  readonly isResumable = false
  readonly #response: ServerResponse
  readonly #hold: Hold

  constructor(response: ServerResponse, held: HeldBytes) {
    this.#response = response
    this.#hold = createHold(response, held)
    response.on('drain', () => this.#hold.setUnsent(response.writableLength))
  }

  get isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded
  }

  notify(message: string): boolean {
    return this.notifyWithId(message)
  }

  /** The same with an id, for who comes back with it. */
  notifyWithId(message: string, id?: string): boolean {
    const waiting = this.#response.writableLength
    if (waiting > MAX_UNSENT || (waiting > SMALL && this.#hold.isHalfFull)) return false
    return this.send(message, id)
  }

  send(message: Buffer | string, id?: string): boolean {
    return this.#write(formatEvent(message, id))
  }

  /** Sends an id without a message (2025-11-25, resumability). */
  prime(id: string): void {
    this.#write(`id: ${id}\nretry: ${RETRY_MS}\ndata: \n\n`)
  }

  retryAfter(ms: number): void {
    this.#write(`retry: ${ms}\n\n`)
  }

  /** Sends again what was sent before, at once, so that a reader who keeps up is not taken for one who does not. */
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

  /** Ends the stream without waiting for a reader who has not taken everything. */
  abort(): void {
    if (this.#response.writableLength > 0) this.#response.destroy()
    else this.end()
  }

  #write(framed: Buffer | string): boolean {
    if (!this.isOpen) return false
    this.#response.write(framed)
    const unsent = this.#response.writableLength
    this.#hold.setUnsent(unsent)
    if (unsent > MAX_BEHIND) this.#response.destroy()
    return true
  }
}

/** The hold of a response, which ends with it. */
export function createHold(response: ServerResponse, held: HeldBytes): Hold {
  const hold = new Hold(held)
  response.on('close', () => hold.end())
  return hold
}

/** A message as one event. */
export function formatEvent(message: Buffer | string, id?: string): Buffer | string {
  // Messages that we encode ourselves have no line ends in them.
  if (typeof message === 'string')
    return id === undefined
      ? `event: message\ndata: ${message}\n\n`
      : `id: ${id}\nevent: message\ndata: ${message}\n\n`
  const head = id === undefined ? HEAD : Buffer.from(`id: ${id}\nevent: message\ndata: `)
  return Buffer.concat([head, onOneLine(message), TAIL])
}
