import { PassThrough } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client'
import { LineSplitter } from '../../transport/line-splitter.ts'
import { LineChannel } from '../stdio/line-channel.ts'
import { Pipe, type PipeContext } from '../duplex/duplex-connection.ts'

/** Lines of ours are as long as they need to be. */
const MAX_LINE = 64 * 1024 * 1024

/** What an MCP SDK `Client` connects to: a pipe that never leaves the process. Either era, like any stdio listener. */
export class InProcessTransport implements Transport {
  onmessage?: (message: JSONRPCMessage) => void
  onclose?: () => void
  onerror?: (error: Error) => void
  readonly #context: PipeContext
  readonly #input = new PassThrough()
  #pipe: Pipe | undefined

  constructor(context: PipeContext) {
    this.#context = context
  }

  async start(): Promise<void> {
    const output = new PassThrough()
    const lines = new LineSplitter({
      maxLine: MAX_LINE,
      onLine: line => this.onmessage?.(JSON.parse(line.toString('utf8')) as JSONRPCMessage),
      onTooLong: () => this.onerror?.(new Error('a message is too long')),
    })
    output.on('data', (chunk: Buffer) => lines.push(chunk))
    this.#pipe = new Pipe({
      channel: new LineChannel(this.#input, output),
      context: this.#context,
      graceMs: 0,
    })
    this.#pipe.start()
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#input.write(`${JSON.stringify(message)}\n`)
  }

  async close(): Promise<void> {
    this.#input.end()
    await this.#pipe?.end('closed', 0)
    this.onclose?.()
  }
}
