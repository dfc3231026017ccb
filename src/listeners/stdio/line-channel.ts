import type { Readable, Writable } from 'node:stream'
import type { Written } from '../../util/written.ts'
import { LineSplitter, onOneLine } from '../../transport/line-splitter.ts'
import type { Channel, Ears } from '../../transport/channel.ts'

const NEWLINE = Buffer.from('\n')

/** Above this, lines are handed over one by one instead of copied together. */
const MAX_JOINED = 64 * 1024

/** Bytes waiting for the reader at which whatever is no answer is dropped. */
const MAX_WAITING = 4 * 1024 * 1024

const MAX_LINE = 10 * 1024 * 1024

/** A pair of streams, one message per line. */
export class LineChannel implements Channel {
  readonly #input: Readable
  readonly #output: Writable
  readonly #writer: LineWriter
  #ears: Ears | undefined

  constructor(input: Readable, output: Writable) {
    this.#input = input
    this.#output = output
    this.#writer = new LineWriter(output, () => this.#ears?.flow())
  }

  get isBlocked(): boolean {
    return this.#writer.isBlocked
  }

  open(ears: Ears): void {
    this.#ears = ears
    const lines = new LineSplitter({
      maxLine: MAX_LINE,
      onLine: line => ears.message(line),
      onTooLong: () => ears.tooLong(MAX_LINE),
    })
    this.#input.on('data', (chunk: Buffer) => lines.push(chunk))
    this.#input.on('end', () => {
      lines.end()
      ears.ended()
    })
    this.#input.on('error', () => ears.gone())
    const unread = (): void => {
      this.#writer.drop()
      ears.gone()
    }
    this.#output.on('error', unread)
    this.#output.on('close', unread)
  }

  pause(): void {
    this.#input.pause()
  }

  resume(): void {
    this.#input.resume()
  }

  tell(message: string): boolean {
    return this.#writer.tell(message)
  }

  write(message: Written): void {
    this.#writer.write(message)
  }

  finished(): Promise<void> {
    return this.#writer.finished()
  }
}

/** Writes messages to a pipe: one chunk for all messages of a tick, and none while the reader is behind. */
class LineWriter {
  readonly #output: Writable
  readonly #onFlow: () => void
  #queue: Buffer[] = []
  #waiting = 0
  #isScheduled = false
  #isBlocked = false
  #isGone = false

  /** `onFlow` runs when the reader falls behind, and when it has caught up. */
  constructor(output: Writable, onFlow: () => void) {
    this.#output = output
    this.#onFlow = onFlow
    output.on('drain', () => this.#drained())
  }

  get isBlocked(): boolean {
    return this.#isBlocked
  }

  /** Writes a message that may be missed; false when it will be. */
  tell(message: string): boolean {
    if (this.#isGone || this.#waiting > MAX_WAITING) return false
    this.write(message)
    return true
  }

  write(message: Written): void {
    if (this.#isGone) return
    if (typeof message === 'string') this.#enqueue(Buffer.from(`${message}\n`))
    else {
      if (Buffer.isBuffer(message)) this.#enqueue(onOneLine(message))
      else for (const piece of message) this.#enqueue(onOneLine(piece))
      this.#enqueue(NEWLINE)
    }
    this.#schedule()
  }

  #enqueue(bytes: Buffer): void {
    this.#queue.push(bytes)
    this.#waiting += bytes.length
  }

  /** Drops all that waits, as nobody reads any more. */
  drop(): void {
    this.#isGone = true
    this.#queue = []
    this.#waiting = 0
  }

  /** Resolves when all that was written has left, or never will. */
  async finished(): Promise<void> {
    while (this.#isBlocked && !this.#isGone) await new Promise(resolve => this.#output.once('drain', resolve))
    this.#flush()
    if (!this.#isGone) await new Promise<void>(resolve => this.#output.write('', () => resolve()))
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isBlocked) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#flush()
    })
  }

  #flush(): void {
    const lines = this.#queue
    if (lines.length === 0 || this.#isBlocked || this.#isGone) return
    const length = this.#waiting
    this.#queue = []
    this.#waiting = 0
    const isTaken = length > MAX_JOINED ? this.#writeEach(lines) : this.#output.write(Buffer.concat(lines))
    if (isTaken) return
    this.#isBlocked = true
    this.#onFlow()
  }

  #writeEach(lines: readonly Buffer[]): boolean {
    this.#output.cork()
    let isTaken = true
    for (const line of lines) isTaken = this.#output.write(line)
    this.#output.uncork()
    return isTaken
  }

  #drained(): void {
    if (!this.#isBlocked) return
    this.#isBlocked = false
    this.#flush()
    if (!this.#isBlocked) this.#onFlow()
  }
}
