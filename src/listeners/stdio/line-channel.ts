import type { Readable, Writable } from 'node:stream'
import type { Written } from '../../protocol/jsonrpc.ts'
import { LineSplitter } from '../../transport/line-splitter.ts'
import type { Channel, Ears } from '../../transport/channel.ts'
import { LineWriter } from './line-writer.ts'

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
