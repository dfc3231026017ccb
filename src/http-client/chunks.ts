import { ClientError } from './handler.ts'

/** Bytes of a line with a chunk's size, or of all trailers. */
const MAX_LINE = 4096
const MAX_TRAILERS = 16 * 1024
const SIZE = /^([0-9a-f]{1,8})[\t ]*(?:;[\t\x20-\x7e\x80-\xff]*)?$/i
const TRAILER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/
const NEWLINE = 0x0a
const AFTER_DATA = '\r\n'

/** Takes the chunks of a body apart (RFC 9112, 7.1). Trailers are checked, and nobody reads them. */
export class Chunks {
  #state: 'size' | 'data' | 'after' | 'trailers' | 'done' = 'size'
  /** What came of a line that has not ended. */
  #line = ''
  /** Bytes of the chunk that are still to come. */
  #left = 0
  #trailers = 0

  get isDone(): boolean {
    return this.#state === 'done'
  }

  /**
   * Reads from `at` on and returns where it stopped: at the end of the body or of the bytes, or after a piece of data when
   * `data` returns false.
   * @throws ClientError
   */
  read(bytes: Buffer, at: number, data: (piece: Buffer) => boolean): number {
    while (at < bytes.length && !this.isDone) {
      if (this.#state !== 'data') {
        at = this.#readLine(bytes, at)
        continue
      }
      const end = Math.min(bytes.length, at + this.#left)
      this.#left -= end - at
      if (this.#left === 0) this.#state = 'after'
      if (!data(bytes.subarray(at, end))) return end
      at = end
    }
    return at
  }

  #readLine(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(NEWLINE, at)
    const stop = end < 0 ? bytes.length : end + 1
    if (this.#line.length + stop - at > MAX_LINE) throw malformed('a line of it is too long')
    this.#line += bytes.toString('latin1', at, stop)
    if (end >= 0) {
      const line = this.#line
      this.#line = ''
      if (!line.endsWith('\r\n')) throw malformed('a line of it ends without a carriage return')
      this.#take(line)
    }
    return stop
  }

  #take(line: string): void {
    if (this.#state === 'after') {
      if (line !== AFTER_DATA) throw malformed('one is longer than it says')
      this.#state = 'size'
    } else if (this.#state === 'size') this.#begin(line.slice(0, -2))
    else this.#trailer(line)
  }

  #begin(line: string): void {
    const size = SIZE.exec(line)?.[1]
    if (size === undefined) throw malformed('the size of one is no number')
    this.#left = Number.parseInt(size, 16)
    this.#state = this.#left === 0 ? 'trailers' : 'data'
  }

  #trailer(line: string): void {
    this.#trailers += line.length
    if (line === AFTER_DATA) this.#state = 'done'
    else if (this.#trailers > MAX_TRAILERS || !TRAILER.test(line.slice(0, -2)))
      throw malformed('what follows them is no header')
  }
}

function malformed(why: string): ClientError {
  return new ClientError('MALFORMED', `the reply is no HTTP/1.1: its chunks are not sound, ${why}`)
}
