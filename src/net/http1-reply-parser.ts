import type { ReplyHeaders } from './http-client-types.ts'
import { ClientError, READ_HEADERS, MAX_HEAD, MAX_INTERIM } from './http-client-types.ts'

/** Body framing (RFC 9112, 6.3): length, chunks, or end of connection. */
type Framing = number | 'chunked' | 'close'

export interface ReplyHead {
  readonly status: number
  readonly headers: ReplyHeaders
  readonly framing: Framing
  /** True if the connection can be reused. */
  readonly keepsAlive: boolean
  /** Server idle timeout in ms, if sent. */
  readonly idleMs: number | undefined
}

const MAX_HEADERS = 128
const STATUS_LINE = /^HTTP\/1\.([01]) ([1-9]\d\d)(?: [\t\x20-\x7e\x80-\xff]*)?$/
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const LENGTH = /^\d{1,15}$/
const HAS_NO_BODY: ReadonlySet<number> = new Set([204, 304])

/**
 * Parses a reply head without its final blank line; text holds one character per byte. Strict against smuggling: no
 * folded
 * lines, no bare line feeds, no ambiguous body length.
 * @throws ClientError
 */
export function parseHead(text: string): ReplyHead {
  let at = text.indexOf('\r\n')
  const status = STATUS_LINE.exec(at < 0 ? text : text.slice(0, at))
  if (status === null) throw createHeadError('invalid status line')
  const headers: { -readonly [K in keyof ReplyHeaders]: ReplyHeaders[K] } = {}
  for (let count = 1; at >= 0; count++) {
    if (count > MAX_HEADERS) throw createHeadError(`more than ${MAX_HEADERS} headers`)
    const start = at + 2
    at = text.indexOf('\r\n', start)
    addHeader(text.slice(start, at < 0 ? text.length : at), headers)
  }
  return createReplyHead(Number(status[2]), status[1] === '1', headers)
}

function addHeader(line: string, headers: { -readonly [K in keyof ReplyHeaders]: ReplyHeaders[K] }): void {
  const colon = line.indexOf(':')
  const name = line.slice(0, Math.max(colon, 0))
  if (!TOKEN.test(name) || !VALUE.test(line)) throw createHeadError('malformed header')
  const headerName = READ_HEADERS.get(name) ?? READ_HEADERS.get(name.toLowerCase())
  if (headerName === undefined) return
  const value = line.slice(colon + 1).trim()
  const before = headers[headerName]
  headers[headerName] = before === undefined ? value : `${before}, ${value}`
}

function createReplyHead(status: number, isNewest: boolean, headers: ReplyHeaders): ReplyHead {
  const framing = getFraming(status, isNewest, headers)
  const connection = headers.connection?.toLowerCase() ?? ''
  const idleMs = parseKeepAliveTimeout(headers['keep-alive'])
  const keepsAlive = isNewest && framing !== 'close' && !/(^|[\s,])close([\s,]|$)/.test(connection)
  return { status, headers, framing, keepsAlive, idleMs }
}

function getFraming(status: number, isNewest: boolean, headers: ReplyHeaders): Framing {
  const { 'content-length': length, 'transfer-encoding': encoding } = headers
  if (encoding !== undefined) checkEncoding(encoding, isNewest)
  if (encoding !== undefined && length !== undefined) throw createHeadError('both Content-Length and Transfer-Encoding')
  // Duplicate headers are joined, so their value is not a number.
  if (length !== undefined && !LENGTH.test(length)) throw createHeadError('invalid Content-Length')
  if (status < 200 || HAS_NO_BODY.has(status)) return 0
  if (encoding !== undefined) return 'chunked'
  return length === undefined ? 'close' : Number(length)
}

function checkEncoding(encoding: string, isNewest: boolean): void {
  if (!isNewest || encoding.toLowerCase() !== 'chunked') throw createHeadError('unsupported transfer encoding')
}

function parseKeepAliveTimeout(keepAlive: string | undefined): number | undefined {
  const seconds = keepAlive === undefined ? undefined : /(?:^|[\s,])timeout=(\d{1,6})/i.exec(keepAlive)?.[1]
  return seconds === undefined ? undefined : Number(seconds) * 1000
}

function createHeadError(reason: string): ClientError {
  return new ClientError('MALFORMED', `invalid HTTP/1.1 reply: ${reason}`)
}

/** Longest chunk size line, in bytes. */
const MAX_LINE = 4096

const MAX_TRAILERS = 16 * 1024

/** Chunk size and extensions (RFC 9112, 7.1.1), strict against smuggling. */
const SIZE =
  /^([0-9a-f]{1,8})(?:;[!#$%&'*+.^_`|~\w-]+(?:=(?:[!#$%&'*+.^_`|~\w-]+|"(?:[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"))?)*$/i

const TRAILER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+:[\t\x20-\x7e\x80-\xff]*$/

const NEWLINE = 0x0a

const AFTER_DATA = '\r\n'

export interface ReplyParserCallbacks {
  head(head: ReplyHead): void
  body(bytes: Buffer): void
  /** End of the reply; `isClean` if no bytes follow. */
  end(isClean: boolean): void
}

const END_OF_HEAD = Buffer.from('\r\n\r\n')

const SWITCHING = 101
/** A line feed alone, which parsers treat differently. */
const BARE_NEWLINE = /(?<!\r)\n/
const BARE_NEWLINE_ERROR = 'invalid HTTP/1.1 reply: bare line feed in head'

const NOTHING = Buffer.alloc(0)

/** Parses consecutive replies on one connection. */
export class ReplyParser {
  readonly #callbacks: ReplyParserCallbacks
  #state: 'idle' | 'head' | 'body' = 'idle'
  /** Buffered start of an incomplete head. */
  #partial: Buffer = NOTHING
  #interim = 0
  #isHeadOnly = false
  #chunks: ChunkDecoder | undefined
  /** Remaining body bytes; Infinity if the body ends with the connection. */
  #remaining = 0
  /** Cache, as a server's replies often have equal heads. */
  #lastText = ''
  #lastHead: ReplyHead | undefined
  readonly #data = (piece: Buffer): boolean => {
    this.#callbacks.body(piece)
    return this.#state === 'body'
  }

  constructor(callbacks: ReplyParserCallbacks) {
    this.#callbacks = callbacks
  }

  get isIdle(): boolean {
    return this.#state === 'idle'
  }

  /** Expects a reply; `isHeadOnly` for HEAD requests, whose replies have no body. */
  expect(headAlone = false): void {
    this.#state = 'head'
    this.#isHeadOnly = headAlone
    this.#interim = 0
  }

  /** Discards the current reply. */
  stop(): void {
    this.#state = 'idle'
    this.#partial = NOTHING
  }

  /** Parses bytes, which may be overwritten afterwards. @throws ClientError on invalid HTTP/1.1 */
  push(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length) {
      if (this.#state === 'idle') throw createUnexpectedError()
      at = this.#state === 'head' ? this.#readHead(bytes, at) : this.#readBody(bytes, at)
      // A callback may have stopped the parser or sent the next request.
      if (at < 0) return
    }
  }

  /** Handles the end of the connection; true if it completed a reply. */
  handleConnectionEnd(): boolean {
    if (this.#state !== 'body' || this.#remaining !== Infinity || this.#chunks !== undefined) return false
    this.#finish(true)
    return true
  }

  /** Returns the end of the head, or a negative number if it is incomplete. */
  #readHead(bytes: Buffer, from: number): number {
    const bufferedBytes = this.#partial.length
    const all =
      bufferedBytes > 0 ? Buffer.concat([this.#partial, bytes.subarray(from)]) : from > 0 ? bytes.subarray(from) : bytes
    const end = all.indexOf(END_OF_HEAD, Math.max(0, bufferedBytes - 3))
    if (end > MAX_HEAD || (end < 0 && all.length > MAX_HEAD))
      throw new ClientError('MALFORMED', `reply head is larger than ${MAX_HEAD} bytes`)
    if (end < 0) {
      if (BARE_NEWLINE.test(all.toString('latin1'))) throw new ClientError('MALFORMED', BARE_NEWLINE_ERROR)
      this.#partial = bufferedBytes > 0 ? all : Buffer.from(all)
      return -1
    }
    this.#partial = NOTHING
    return this.#begin(this.#parseHead(all.toString('latin1', 0, end)), from + end + 4 - bufferedBytes, bytes.length)
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
        throw new ClientError('MALFORMED', `unexpected HTTP ${head.status}`)
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
  return new ClientError('MALFORMED', 'unexpected data from server')
}

/** Decodes chunked bodies (RFC 9112, 7.1). Trailers are validated and discarded. */
class ChunkDecoder {
  #state: 'size' | 'data' | 'after' | 'trailers' | 'done' = 'size'
  /** Incomplete line so far. */
  #line = ''
  /** Remaining chunk bytes. */
  #remaining = 0
  #trailers = 0

  get isDone(): boolean {
    return this.#state === 'done'
  }

  /**
   * Decodes from `at`. Returns the end position: end of body or input, or after a piece if `data` returned false.
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
    if (this.#line.length + stop - at > MAX_LINE) throw createChunkError('line too long')
    this.#line += bytes.toString('latin1', at, stop)
    if (end >= 0) {
      const line = this.#line
      this.#line = ''
      if (!line.endsWith('\r\n')) throw createChunkError('bare line feed')
      this.#parseLine(line)
    }
    return stop
  }

  #parseLine(line: string): void {
    if (this.#state === 'after') {
      if (line !== AFTER_DATA) throw createChunkError('chunk is longer than its declared size')
      this.#state = 'size'
    } else if (this.#state === 'size') this.#beginChunk(line.slice(0, -2))
    else this.#parseTrailer(line)
  }

  #beginChunk(line: string): void {
    const size = SIZE.exec(line)?.[1]
    if (size === undefined) throw createChunkError('invalid size')
    this.#remaining = Number.parseInt(size, 16)
    this.#state = this.#remaining === 0 ? 'trailers' : 'data'
  }

  #parseTrailer(line: string): void {
    this.#trailers += line.length
    if (line === AFTER_DATA) this.#state = 'done'
    else if (this.#trailers > MAX_TRAILERS || !TRAILER.test(line.slice(0, -2)))
      throw createChunkError('invalid trailer')
  }
}

function createChunkError(reason: string): ClientError {
  return new ClientError('MALFORMED', `invalid HTTP/1.1 reply: malformed chunks, ${reason}`)
}
