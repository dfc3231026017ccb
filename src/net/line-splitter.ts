import { BOM_LENGTH, hasBom } from '../protocol/json/json.ts'

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
  /** Beginning of an incomplete line. */
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
