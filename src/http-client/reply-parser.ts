import { ClientError, MAX_HEAD, MAX_INTERIM } from './transport.ts'
import type { ReplyHead } from './reply-head.ts'
import { parseHead } from './reply-head.ts'

/** Bytes of a line with a chunk's size, or of all trailers. */
const MAX_LINE = 4096

const MAX_TRAILERS = 16 * 1024

/** A size in hex and its extensions (RFC 9112, 7.1.1): readers that differ on a doubtful one see different bodies. */
const SIZE =
  /^([0-9a-f]{1,8})(?:;[!#$%&'*+.^_`|~\w-]+(?:=(?:[!#$%&'*+.^_`|~\w-]+|"(?:[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"))?)*$/i

const TRAILER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/

const NEWLINE = 0x0a

const AFTER_DATA = '\r\n'

/** Takes what a reader reads. */
export interface ReplyParserCallbacks {
  head(head: ReplyHead): void
  body(bytes: Buffer): void
  /** The reply is complete; `isClean` when nothing came behind it. */
  end(isClean: boolean): void
}

const END_OF_HEAD = Buffer.from('\r\n\r\n')

const SWITCHING = 101
/** Ends a line for some readers and not for others. */
const BARE_NEWLINE = /(?<!\r)\n/
const BARE_NEWLINE_ERROR = 'the reply is no HTTP/1.1: a line of its head ends without a carriage return'

const NOTHING = Buffer.alloc(0)

/** Reads the replies on one connection, one after the other. */
export class ReplyParser {
  readonly #callbacks: ReplyParserCallbacks
  #state: 'idle' | 'head' | 'body' = 'idle'
  /** The beginning of a head that is not complete. */
  #partial: Buffer = NOTHING
  #interim = 0
  #isHeadOnly = false
  #chunks: ChunkDecoder | undefined
  /** Bytes of the body that are still to come; Infinity where the end of the connection ends it. */
  #remaining = 0
  /** Replies of one server often have the very same head. */
  #lastText = ''
  #lastHead: ReplyHead | undefined
  readonly #data = (piece: Buffer): boolean => {
    this.#callbacks.body(piece)
    return this.#state === 'body'
  }

  constructor(callbacks: ReplyParserCallbacks) {
    this.#callbacks = callbacks
  }

  /** True while no reply is expected. */
  get isIdle(): boolean {
    return this.#state === 'idle'
  }

  /** A request was sent: its reply comes next, with a length and no body where only its head was asked for. */
  expect(headAlone = false): void {
    this.#state = 'head'
    this.#isHeadOnly = headAlone
    this.#interim = 0
  }

  /** Forgets the reply, as nobody listens any more. */
  stop(): void {
    this.#state = 'idle'
    this.#partial = NOTHING
  }

  /** Takes what came; the bytes may be overwritten afterwards. @throws ClientError when they are no HTTP/1.1 */
  push(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length) {
      if (this.#state === 'idle') throw createUnexpectedError()
      at = this.#state === 'head' ? this.#readHead(bytes, at) : this.#readBody(bytes, at)
      // Whoever heard of the end may have stopped us, or sent the next request.
      if (at < 0) return
    }
  }

  /** The connection has ended; whether that was the end of a reply. */
  handleConnectionEnd(): boolean {
    if (this.#state !== 'body' || this.#remaining !== Infinity || this.#chunks !== undefined) return false
    this.#finish(true)
    return true
  }

  /** Returns where the head ends, or a negative number when all is read. */
  #readHead(bytes: Buffer, from: number): number {
    const known = this.#partial.length
    const all =
      known > 0
        ? Buffer.concat([this.#partial, bytes.subarray(from)])
        : from > 0
          ? bytes.subarray(from)
          : bytes
    const end = all.indexOf(END_OF_HEAD, Math.max(0, known - 3))
    if (end > MAX_HEAD || (end < 0 && all.length > MAX_HEAD))
      throw new ClientError('MALFORMED', `the head of the reply is larger than ${MAX_HEAD} bytes`)
    if (end < 0) {
      if (BARE_NEWLINE.test(all.toString('latin1'))) throw new ClientError('MALFORMED', BARE_NEWLINE_ERROR)
      this.#partial = known > 0 ? all : Buffer.from(all)
      return -1
    }
    this.#partial = NOTHING
    return this.#begin(this.#parseHead(all.toString('latin1', 0, end)), from + end + 4 - known, bytes.length)
  }

  #parseHead(text: string): ReplyHead {
    if (this.#lastHead !== undefined && text === this.#lastText) return this.#lastHead
    this.#lastText = text
    this.#lastHead = parseHead(text)
    return this.#lastHead
  }

  #begin(head: ReplyHead, at: number, length: number): number {
    if (head.status < 200) {
      if (head.status === SWITCHING || ++this.#interim > MAX_INTERIM)
        throw new ClientError('MALFORMED', `HTTP ${head.status} was not asked for`)
      return at < length ? at : -1
    }
    this.#state = 'body'
    this.#expectBody(this.#isHeadOnly ? 0 : head.framing)
    this.#callbacks.head(head)
    if (this.#isStopped()) return -1
    if (this.#remaining === 0) return this.#finish(at === length)
    return at < length ? at : -1
  }

  #expectBody(framing: ReplyHead['framing']): void {
    this.#chunks = framing === 'chunked' ? new ChunkDecoder() : undefined
    this.#remaining = typeof framing === 'number' ? framing : Infinity
  }

  #readBody(bytes: Buffer, at: number): number {
    if (this.#chunks !== undefined) return this.#readChunks(this.#chunks, bytes, at)
    const end = Math.min(bytes.length, at + this.#remaining)
    this.#remaining -= end - at
    this.#callbacks.body(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end))
    if (this.#isStopped()) return -1
    return this.#remaining === 0 ? this.#finish(end === bytes.length) : -1
  }

  #readChunks(chunks: ChunkDecoder, bytes: Buffer, at: number): number {
    const end = chunks.read(bytes, at, this.#data)
    if (this.#isStopped()) return -1
    return chunks.isDone ? this.#finish(end === bytes.length) : -1
  }

  #isStopped(): boolean {
    return this.#state !== 'body'
  }

  #finish(isClean: boolean): -1 {
    this.#state = 'idle'
    this.#callbacks.end(isClean)
    return -1
  }
}

function createUnexpectedError(): ClientError {
  return new ClientError('MALFORMED', 'the server sent something that nobody had asked for')
}

/** Takes the chunks of a body apart (RFC 9112, 7.1). Trailers are checked, and nobody reads them. */
class ChunkDecoder {
  #state: 'size' | 'data' | 'after' | 'trailers' | 'done' = 'size'
  /** The beginning of a line that has not ended. */
  #line = ''
  /** Bytes of the chunk that are still to come. */
  #remaining = 0
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
      const end = Math.min(bytes.length, at + this.#remaining)
      this.#remaining -= end - at
      if (this.#remaining === 0) this.#state = 'after'
      if (!data(bytes.subarray(at, end))) return end
      at = end
    }
    return at
  }

  #readLine(bytes: Buffer, at: number): number {
    const end = bytes.indexOf(NEWLINE, at)
    const stop = end < 0 ? bytes.length : end + 1
    if (this.#line.length + stop - at > MAX_LINE) throw createChunkError('a line of it is too long')
    this.#line += bytes.toString('latin1', at, stop)
    if (end >= 0) {
      const line = this.#line
      this.#line = ''
      if (!line.endsWith('\r\n')) throw createChunkError('a line of it ends without a carriage return')
      this.#parseLine(line)
    }
    return stop
  }

  #parseLine(line: string): void {
    if (this.#state === 'after') {
      if (line !== AFTER_DATA) throw createChunkError('one is longer than it says')
      this.#state = 'size'
    } else if (this.#state === 'size') this.#beginChunk(line.slice(0, -2))
    else this.#parseTrailer(line)
  }

  #beginChunk(line: string): void {
    const size = SIZE.exec(line)?.[1]
    if (size === undefined) throw createChunkError('the size of one is no number')
    this.#remaining = Number.parseInt(size, 16)
    this.#state = this.#remaining === 0 ? 'trailers' : 'data'
  }

  #parseTrailer(line: string): void {
    this.#trailers += line.length
    if (line === AFTER_DATA) this.#state = 'done'
    else if (this.#trailers > MAX_TRAILERS || !TRAILER.test(line.slice(0, -2)))
      throw createChunkError('what follows them is no header')
  }
}

function createChunkError(why: string): ClientError {
  return new ClientError('MALFORMED', `the reply is no HTTP/1.1: its chunks are not sound, ${why}`)
}
