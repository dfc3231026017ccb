import type { ServerResponse } from 'node:http'
import type { Clock } from '../core/ports.ts'
import { onOneLine } from './frames.ts'

/** A reader with more than this unsent is cut when the next event comes. */
const MAX_UNSENT = 1024 * 1024
const KEEP_ALIVE_MS = 15_000
const HEAD = Buffer.from('event: message\ndata: ')
const TAIL = Buffer.from('\n\n')

export const SSE_HEADERS: Readonly<Record<string, string>> = Object.freeze({
  'content-type': 'text/event-stream',
  'cache-control': 'no-store, no-transform',
  'x-accel-buffering': 'no',
})

/** The open streams of a listener, told now and then that we are still here. */
export class SseStreams {
  readonly #clock: Clock
  readonly #open = new Set<SseStream>()
  #takeBack: (() => void) | undefined

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Starts an event stream on a response that has sent nothing yet. */
  open(response: ServerResponse, headers?: Readonly<Record<string, string>>): SseStream {
    response.writeHead(200, headers === undefined ? SSE_HEADERS : { ...SSE_HEADERS, ...headers })
    response.flushHeaders()
    const stream = new SseStream(response)
    this.#open.add(stream)
    response.on('close', () => this.#open.delete(stream))
    this.#takeBack ??= this.#clock.after(KEEP_ALIVE_MS, () => this.#tick())
    return stream
  }

  stop(): void {
    this.#takeBack?.()
    this.#takeBack = undefined
  }

  #tick(): void {
    for (const stream of this.#open) stream.keepAlive()
    this.#takeBack = this.#open.size === 0 ? undefined : this.#clock.after(KEEP_ALIVE_MS, () => this.#tick())
  }
}

/** One event stream to one reader. */
export class SseStream {
  readonly #response: ServerResponse

  constructor(response: ServerResponse) {
    this.#response = response
  }

  get isOpen(): boolean {
    return !this.#response.destroyed && !this.#response.writableEnded
  }

  /** Sends one message; false when there is nobody to read it. */
  send(message: Buffer | string): boolean {
    if (!this.#canWrite()) return false
    this.#response.write(frame(message))
    return true
  }

  keepAlive(): void {
    if (this.#canWrite()) this.#response.write(':\n\n')
  }

  /** Ends the stream, with a last message where there is one. */
  end(message?: Buffer | string): void {
    if (!this.#canWrite()) return
    if (message === undefined) this.#response.end()
    else this.#response.end(frame(message))
  }

  #canWrite(): boolean {
    if (!this.isOpen) return false
    if (this.#response.writableLength <= MAX_UNSENT) return true
    this.#response.destroy()
    return false
  }
}

function frame(message: Buffer | string): Buffer | string {
  // What we encode ourselves has no line ends in it.
  if (typeof message === 'string') return `event: message\ndata: ${message}\n\n`
  return Buffer.concat([HEAD, onOneLine(message), TAIL])
}
