const NEWLINE = 0x0a
const RETURN = 0x0d
/** Chunks below this are gathered where there are many, so that a peer which dribbles bytes does not cost an object for each. */
const SMALL = 4096
const MANY = 16
const BLOCK = 64 * 1024

interface LineSplitterOptions {
  /** Most bytes of one line, its end not counted. */
  readonly maxLine: number
  /** Gets each line that is not empty, without its end and without a byte order mark. The bytes stay as they are. */
  onLine(line: Buffer): void
  /** Runs once per line that is too long, as soon as it is, with the bytes seen so far. The rest of it is skipped. */
  onTooLong(bytes: number): void
  /** True where nobody else holds the chunks: then the memory of those that were copied is given back at once. */
  readonly ownsChunks?: boolean
}

/** Cuts a stream of bytes into lines. A line that arrives whole in one chunk is never copied. */
export class LineSplitter {
  readonly #options: LineSplitterOptions
  #parts: Buffer[] = []
  #length = 0
  #skipping = false
  #block: Buffer | undefined
  #blockStart = 0
  #blockEnd = 0

  constructor(options: LineSplitterOptions) {
    this.#options = options
  }

  push(chunk: Buffer): void {
    let from = 0
    for (;;) {
      const at = chunk.indexOf(NEWLINE, from)
      if (at < 0) return this.#keep(from === 0 ? chunk : chunk.subarray(from))
      this.#close(chunk.subarray(from, at))
      from = at + 1
    }
  }

  /** The stream has ended: what is left is the last line. */
  end(): void {
    this.#close(Buffer.alloc(0))
  }

  #close(rest: Buffer): void {
    if (this.#skipping) {
      this.#skipping = false
      return
    }
    const length = this.#length + rest.length
    const text = trimmed(this.#parts.length === 0 ? rest : this.#joined(rest, length))
    if (text.length > this.#options.maxLine) return this.#giveUp(length, false)
    this.#forget()
    if (text.length > 0) this.#options.onLine(text)
  }

  #joined(rest: Buffer, length: number): Buffer {
    const line = Buffer.concat([...this.#parts, rest], length)
    // Many such chunks, once the collector hears of them, make it look through the whole heap.
    if (this.#options.ownsChunks === true) this.#parts.forEach(release)
    return line
  }

  #keep(rest: Buffer): void {
    if (this.#skipping || rest.length === 0) return
    const length = this.#length + rest.length
    // One byte more may still be the carriage return of a line that fits.
    if (length > this.#options.maxLine + 1) return this.#giveUp(length, true)
    this.#length = length
    if (rest.length < SMALL && this.#parts.length >= MANY) this.#gather(rest)
    else this.#append(rest)
  }

  #append(part: Buffer): void {
    this.#parts.push(part)
    this.#blockStart = this.#blockEnd
  }

  #gather(rest: Buffer): void {
    if (this.#block === undefined || this.#blockEnd + rest.length > BLOCK) {
      this.#block = Buffer.allocUnsafeSlow(BLOCK)
      this.#blockStart = this.#blockEnd = 0
    }
    rest.copy(this.#block, this.#blockEnd)
    if (this.#blockEnd > this.#blockStart) this.#parts.pop()
    this.#blockEnd += rest.length
    this.#parts.push(this.#block.subarray(this.#blockStart, this.#blockEnd))
  }

  #giveUp(bytes: number, skipping: boolean): void {
    this.#forget()
    this.#skipping = skipping
    this.#options.onTooLong(bytes)
  }

  #forget(): void {
    if (this.#parts.length === 0) return
    this.#parts = []
    this.#length = 0
    this.#block = undefined
    this.#blockStart = this.#blockEnd = 0
  }
}

/**
 * Frees the memory of a chunk that nobody else holds and that is all there is in it. Many such chunks, once the collector hears
 * of them, make it look through the whole heap.
 */
export function release({ buffer, length }: Buffer): void {
  if (buffer instanceof ArrayBuffer && length === buffer.byteLength) buffer.transfer(0)
}

function trimmed(line: Buffer): Buffer {
  const start = line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? 3 : 0
  const end = line[line.length - 1] === RETURN ? line.length - 1 : line.length
  return start === 0 && end === line.length ? line : line.subarray(start, Math.max(start, end))
}

/** A JSON text on one line: line ends between its tokens become spaces. Without any, it is the same bytes. */
export function onOneLine(json: Buffer): Buffer {
  if (json.indexOf(NEWLINE) < 0 && json.indexOf(RETURN) < 0) return json
  const line = Buffer.from(json)
  for (let at = 0; at < line.length; at++) {
    if (line[at] === NEWLINE || line[at] === RETURN) line[at] = 0x20
  }
  return line
}
