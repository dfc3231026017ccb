import type { Writable } from 'node:stream'

/** Latin-1 text with one character per byte; for short messages cheaper to build and write than bytes. */
export class ByteText {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  get bytes(): Buffer {
    return Buffer.from(this.text, 'latin1')
  }
}

/** Encoded message, in pieces if it is too large to copy. */
export type EncodedMessage = string | ByteText | Buffer | readonly Buffer[]

export function getByteLength(message: EncodedMessage): number {
  if (typeof message === 'string') return Buffer.byteLength(message)
  if (message instanceof ByteText) return message.text.length
  return Buffer.isBuffer(message) ? message.length : message.reduce((sum, piece) => sum + piece.length, 0)
}

/** Joins a message's pieces. */
export function joinPieces(message: EncodedMessage): string | Buffer {
  if (message instanceof ByteText) return message.bytes
  return typeof message === 'string' || Buffer.isBuffer(message) ? message : Buffer.concat(message)
}

/** Writes all pieces in one system call; `written` runs once all are flushed. Returns false on backpressure. */
export function writePieces(
  to: Writable,
  pieces: readonly Buffer[],
  written?: (error?: Error | null) => void,
): boolean {
  to.cork()
  const last = pieces.length - 1
  let isTaken = true
  pieces.forEach((piece, nth) => (isTaken = to.write(piece, nth === last ? written : undefined)))
  to.uncork()
  return isTaken
}

/** Converts a message to buffers, without a copy if possible. */
export function toBuffers(message: EncodedMessage): readonly Buffer[] {
  if (typeof message === 'string') return [Buffer.from(message)]
  if (message instanceof ByteText) return [message.bytes]
  return Buffer.isBuffer(message) ? [message] : message
}

/** Length of a UTF-8 byte order mark, which some programs prepend. */
export const BOM_LENGTH = 3

export function hasBom(bytes: Buffer): boolean {
  return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
}

/** Returns the bytes without a byte order mark. */
export function stripBom(bytes: Buffer): Buffer {
  return hasBom(bytes) ? bytes.subarray(BOM_LENGTH) : bytes
}

const NEWLINE = 0x0a
const RETURN = 0x0d

/** Beginning and end of a line that exceeded the limit. */
export interface SkippedLine {
  readonly head: Buffer
  readonly tail: Buffer
}

/** Bytes stored of such a line's beginning, and of its end. */
const HEAD_BYTES = 1024
const TAIL_BYTES = 256
const NOTHING = Buffer.alloc(0)

interface LineSplitterOptions {
  /** Maximum bytes per line, without its line end. */
  readonly maxLine: number
  /** Receives each non-empty line, without its line end and byte order mark. The bytes stay unchanged. */
  onLine(line: Buffer): void
  /** Runs once per line that exceeds the limit, with the bytes read so far. The remaining ones are skipped. */
  onTooLong?(bytes: number): void
  /** Receives a skipped line's beginning and end, when the next line begins. */
  onSkipped?(line: SkippedLine): void
}

/** Splits a byte stream into lines. A line that arrives in one chunk is never copied. */
export class LineSplitter {
  readonly #options: LineSplitterOptions
  /** Incomplete line's beginning. */
  #chunks: Buffer[] = []
  #length = 0
  #skipped: SkippedLine | undefined

  constructor(options: LineSplitterOptions) {
    this.#options = options
  }

  push(chunk: Buffer): void {
    let from = 0
    for (;;) {
      const at = chunk.indexOf(NEWLINE, from)
      if (at < 0) return this.#appendChunk(from === 0 ? chunk : chunk.subarray(from))
      this.#finishLine(chunk.subarray(from, at))
      from = at + 1
    }
  }

  /** The stream has ended: the remaining bytes are the last line. */
  end(): void {
    this.#finishLine(NOTHING)
  }

  #finishLine(chunk: Buffer): void {
    if (this.#skipped !== undefined) return this.#endSkipping(chunk)
    const text = trimLine(this.#length === 0 ? chunk : this.#takeLine(chunk))
    if (text.length > this.#options.maxLine) {
      this.#skipLine(text)
      this.#endSkipping(NOTHING)
    } else if (text.length > 0) this.#options.onLine(text)
  }

  #appendChunk(chunk: Buffer): void {
    if (chunk.length === 0) return
    if (this.#skipped !== undefined) this.#skipped = appendTail(this.#skipped, chunk)
    // One more byte may be the carriage return of a line that fits.
    else if (this.#length + chunk.length > this.#options.maxLine + 1) this.#skipLine(chunk)
    else {
      this.#chunks.push(chunk)
      this.#length += chunk.length
    }
  }

  #takeLine(chunk: Buffer = NOTHING): Buffer {
    const line = Buffer.concat([...this.#chunks, chunk])
    this.#chunks = []
    this.#length = 0
    return line
  }

  #skipLine(chunk: Buffer): void {
    const begun = this.#takeLine()
    const head = Buffer.concat([begun.subarray(0, HEAD_BYTES), chunk.subarray(0, HEAD_BYTES)])
    const bytes = begun.length + chunk.length
    this.#skipped = appendTail(appendTail({ head, tail: NOTHING }, begun), chunk)
    this.#options.onTooLong?.(bytes)
  }

  #endSkipping(chunk: Buffer): void {
    const skipped = this.#skipped && appendTail(this.#skipped, chunk)
    this.#skipped = undefined
    if (skipped !== undefined) this.#options.onSkipped?.(skipped)
  }
}

function appendTail({ head, tail }: SkippedLine, more: Buffer): SkippedLine {
  return { head, tail: Buffer.concat([tail, more.subarray(-TAIL_BYTES)]).subarray(-TAIL_BYTES) }
}

function trimLine(line: Buffer): Buffer {
  const start = hasBom(line) ? BOM_LENGTH : 0
  const end = line[line.length - 1] === RETURN ? line.length - 1 : line.length
  return start === 0 && end === line.length ? line : line.subarray(start, Math.max(start, end))
}

/** Puts JSON on one line: line ends between tokens become spaces. Without line ends, returns the same bytes. */
export function replaceLineEnds(json: Buffer): Buffer {
  if (json.indexOf(NEWLINE) < 0 && json.indexOf(RETURN) < 0) return json
  const line = Buffer.from(json)
  for (let at = 0; at < line.length; at++) {
    if (line[at] === NEWLINE || line[at] === RETURN) line[at] = 0x20
  }
  return line
}

const LINE_END = Buffer.from('\n')

/** Larger output is written line by line instead of concatenated. */
const MAX_JOINED = 64 * 1024

/** Droppable messages are dropped above this many bytes. */
const MAX_WAITING = 4 * 1024 * 1024

/** Writes all messages in a tick as one chunk; pauses while the reader is behind. */
export class LineWriter {
  readonly #output: Writable
  readonly #onFlow: () => void
  /** Queued lines; bytes first if there are large ones. */
  #queue: Buffer[] = []
  /** Last queued lines, one character per byte. */
  #text = ''
  /** Queued bytes. */
  #waiting = 0
  #isScheduled = false
  #isBlocked = false
  #isGone = false

  /** `onFlow` runs when the reader falls behind or catches up. */
  constructor(output: Writable, onFlow: () => void) {
    this.#output = output
    this.#onFlow = onFlow
    output.on('drain', () => this.#onDrain())
  }

  get isBlocked(): boolean {
    return this.#isBlocked
  }

  /** Writes a droppable message; false if it is dropped. */
  writeOptional(message: string): boolean {
    if (this.#isGone || this.#waiting > MAX_WAITING) return false
    this.write(message)
    return true
  }

  /** `bytes` is the length if known. */
  write(message: EncodedMessage, bytes?: number): void {
    if (this.#isGone) return
    if (message instanceof ByteText) this.#add(toSingleLine(message.text))
    else if (typeof message === 'string') this.#add(toByteText(message, bytes ?? Buffer.byteLength(message)))
    else {
      for (const piece of toBuffers(message)) this.#enqueue(replaceLineEnds(piece))
      this.#enqueue(LINE_END)
    }
    this.#schedule()
  }

  #add(text: string): void {
    this.#text += `${text}\n`
    this.#waiting += text.length + 1
  }

  #enqueue(bytes: Buffer): void {
    this.#pack()
    this.#queue.push(bytes)
    this.#waiting += bytes.length
  }

  /** Moves queued text to the byte queue to preserve order. */
  #pack(): void {
    if (this.#text !== '') this.#queue.push(Buffer.from(this.#text, 'latin1'))
    this.#text = ''
  }

  /** Bytes that the reader has not taken. */
  get unread(): number {
    return this.#waiting + this.#output.writableLength
  }

  /** Writes the queue, even if the reader is behind, and closes the stream. */
  end(): void {
    this.#isBlocked = false
    this.#writeWaiting()
    this.#output.end()
  }

  /** Discards the queue: the reader is gone. */
  drop(): void {
    this.#isGone = true
    this.#queue = []
    this.#text = ''
    this.#waiting = 0
  }

  /** Resolves when everything is written, or never can be. */
  async finished(): Promise<void> {
    while (this.#isBlocked && !this.#isGone) await new Promise(resolve => this.#output.once('drain', resolve))
    this.#writeWaiting()
    if (!this.#isGone) await new Promise<void>(resolve => this.#output.write('', () => resolve()))
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isBlocked) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#writeWaiting()
    })
  }

  #writeWaiting(): void {
    if (this.#waiting === 0 || this.#isBlocked || this.#isGone) return
    if (this.#writeAll()) return
    this.#isBlocked = true
    this.#onFlow()
  }

  /** Writes the queue; false if the reader is behind. */
  #writeAll(): boolean {
    const length = this.#waiting
    const text = this.#text
    this.#waiting = 0
    if (this.#queue.length === 0) {
      this.#text = ''
      return this.#output.write(text, 'latin1')
    }
    this.#pack()
    const lines = this.#queue
    this.#queue = []
    return length > MAX_JOINED ? writePieces(this.#output, lines) : this.#output.write(Buffer.concat(lines))
  }

  #onDrain(): void {
    if (!this.#isBlocked) return
    this.#isBlocked = false
    this.#writeWaiting()
    if (!this.#isBlocked) this.#onFlow()
  }
}

/** Converts text to one character per byte; ASCII needs no copy. */
function toByteText(text: string, bytes: number): string {
  return bytes === text.length ? text : Buffer.from(text).toString('latin1')
}

/** Replaces line breaks, which occur only between JSON values. */
function toSingleLine(json: string): string {
  return json.includes('\n') || json.includes('\r') ? json.replace(/[\r\n]/g, ' ') : json
}
