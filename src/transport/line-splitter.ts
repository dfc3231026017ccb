import { Gathered } from './gathered.ts'

const NEWLINE = 0x0a
const RETURN = 0x0d

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
  /** The beginning of a line whose end has not come. */
  readonly #begun: Gathered
  #skipping = false

  constructor(options: LineSplitterOptions) {
    this.#options = options
    this.#begun = new Gathered(options.ownsChunks)
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
    const length = this.#begun.length + rest.length
    const text = trimmed(this.#begun.length === 0 ? rest : this.#begun.take(rest))
    if (text.length > this.#options.maxLine) return this.#giveUp(length, false)
    if (text.length > 0) this.#options.onLine(text)
  }

  #keep(rest: Buffer): void {
    if (this.#skipping || rest.length === 0) return
    const length = this.#begun.length + rest.length
    // One byte more may still be the carriage return of a line that fits.
    if (length > this.#options.maxLine + 1) return this.#giveUp(length, true)
    this.#begun.push(rest)
  }

  #giveUp(bytes: number, skipping: boolean): void {
    this.#begun.forget()
    this.#skipping = skipping
    this.#options.onTooLong(bytes)
  }
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
