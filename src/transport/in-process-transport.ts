import { PassThrough } from 'node:stream'
import type { Clock, Gate, Listener, Log } from '../core/ports.ts'
import type { JsonObject } from '../protocol/jsonrpc.ts'
import { LineSplitter } from './frames.ts'
import { stdioListener } from './listen-stdio.ts'

/** Lines of ours are as long as they need to be. */
const MAX_LINE = 64 * 1024 * 1024

/** What an MCP SDK `Client` connects to: a pipe that never leaves the process. */
export class InProcessTransport {
  onmessage?: (message: never) => void
  onclose?: () => void
  onerror?: (error: Error) => void
  readonly #listener: Listener
  readonly #input: PassThrough
  readonly #output: PassThrough

  constructor(listener: (streams: { input: PassThrough; output: PassThrough }) => Listener) {
    this.#input = new PassThrough()
    this.#output = new PassThrough()
    this.#listener = listener({ input: this.#input, output: this.#output })
  }

  async start(): Promise<void> {
    const lines = new LineSplitter({
      maxLine: MAX_LINE,
      onLine: line => this.#deliver(line),
      onTooLong: () => this.onerror?.(new Error('a message is too long')),
    })
    this.#output.on('data', (chunk: Buffer) => lines.push(chunk))
    await this.#listener.start()
  }

  #deliver(line: Buffer): void {
    this.onmessage?.(JSON.parse(line.toString('utf8')) as never)
  }

  async send(message: JsonObject): Promise<void> {
    this.#input.write(`${JSON.stringify(message)}\n`)
  }

  async close(): Promise<void> {
    this.#input.end()
    await this.#listener.stop(0)
    this.onclose?.()
  }
}

/** A transport for an MCP SDK `Client`, either era. */
export function inProcessTransport(gate: Gate, log: Log, clock: Clock): InProcessTransport {
  return new InProcessTransport(streams => stdioListener({ name: 'in-process', gate, log, clock }, streams))
}
