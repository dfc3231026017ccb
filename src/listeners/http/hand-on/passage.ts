import type { ServerResponse } from 'node:http'
import type { Carrier, ReplyHandler, ReplyHeaders } from '../../../http-client/port.ts'
import { CarriedRequest } from './carried-request.ts'
import { isFromProcess, passedOn } from './handed-headers.ts'

const MISDIRECTED = 421
/** A whole body up to here leaves in one text with its head. */
const MAX_TEXT = 32 * 1024

/** End of a request that was handed on: answered, sent to one that has not got what it is about, or failed. */
export type Outcome =
  | { readonly kind: 'answered' }
  | { readonly kind: 'misdirected' }
  | { readonly kind: 'failed'; readonly error: Error; readonly wasSent: boolean }

interface PassageEars {
  /** The answer comes piece by piece, and its head is written. */
  streams(): void
  over(outcome: Outcome): void
}

/** Passes the answer of another process on to its client, no faster than that reads. */
export class Passage implements ReplyHandler {
  readonly #response: ServerResponse
  readonly #ears: PassageEars
  readonly #request = new CarriedRequest(this)
  #isOver = false
  #isMisdirected = false
  #isPaused = false
  #lines: readonly string[] = []
  #status = 0
  /** Bytes of a short answer, which leaves at once. */
  #length = 0

  constructor(response: ServerResponse, ears: PassageEars) {
    this.#response = response
    this.#ears = ears
  }

  /** Waits for the answer no longer. */
  giveUp(why: Error): void {
    if (!this.#isOver) this.#request.giveUp(why)
  }

  onSend(carrier: Carrier): void {
    this.#request.sendBy(carrier)
  }

  onLines(lines: readonly string[]): void {
    this.#lines = lines
  }

  onHead(status: number, headers: ReplyHeaders): void {
    this.#status = status
    this.#isMisdirected = status === MISDIRECTED && isFromProcess(this.#lines)
    this.#length = Number(headers['content-length'] ?? Infinity)
    // What comes with the head leaves with it.
    if (this.#length > MAX_TEXT) process.nextTick(() => this.#flush())
  }

  onBody(bytes: Buffer, carrier: Carrier): void {
    const response = this.#response
    if (this.#isMisdirected || response.destroyed || response.writableEnded) return
    if (!response.headersSent && bytes.length === this.#length)
      return void this.#begin().end(bytes.toString('latin1'), 'latin1')
    // Others read into the same place next.
    if (this.#stream().write(Buffer.from(bytes)) || this.#isPaused) return
    this.#isPaused = true
    carrier.pause?.()
    response.once('drain', () => this.#readOn())
  }

  onEnd(): void {
    this.#readOn()
    this.#isOver = true
    if (this.#isMisdirected) return this.#ears.over({ kind: 'misdirected' })
    if (!this.#response.destroyed && !this.#response.writableEnded) this.#begin().end()
    this.#ears.over({ kind: 'answered' })
  }

  onError(error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#ears.over({ kind: 'failed', error, wasSent: this.#request.wasSent })
  }

  #readOn(): void {
    if (this.#isPaused && !this.#isOver) this.#request.resume()
    this.#isPaused = false
  }

  #flush(): void {
    if (!this.#isOver && !this.#isMisdirected && !this.#response.destroyed) this.#stream().flushHeaders()
  }

  #stream(): ServerResponse {
    const isNew = !this.#response.headersSent
    this.#begin()
    if (isNew) this.#ears.streams()
    return this.#response
  }

  #begin(): ServerResponse {
    if (!this.#response.headersSent) this.#response.writeHead(this.#status, passedOn(this.#lines))
    return this.#response
  }
}
