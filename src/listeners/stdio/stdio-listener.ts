import type { Readable, Writable } from 'node:stream'
import type { Listener, ListenerConfig, ListenerContext } from '../../api/index.ts'
import type { Plugin } from '../../plugin.ts'
import { parseDuration } from '../../plugin.ts'
import type { Channel, ChannelEvents } from '../../net/channel.ts'
import { LineSplitter, LineWriter } from '../../util/messages.ts'
import type { EncodedMessage } from '../../util/messages.ts'
import { DuplexConnection } from '../duplex/duplex-connection.ts'

interface StdioStreams {
  readonly input: Readable
  readonly output: Writable
}

/** Stdio listener plugin on the given streams, by default the process's own. */
export function stdioListener(streams?: StdioStreams): Plugin {
  return {
    name: 'listen-stdio',
    claims: { always: true },
    setup({ hooks, config }) {
      const graceMs = parseDuration(config.shutdown.grace)
      hooks.createListener.for('stdio').tap((spec, context) => {
        const { profile } = spec as StdioListenerSpec
        return new StdioListener(context, { graceMs, profile }, streams)
      })
    },
  }
}

/** One client of either era on stdin and stdout. */
export const listenStdio: Plugin = stdioListener()

type StdioListenerSpec = Extract<ListenerConfig, { type: 'stdio' }>

interface StdioListenerSettings {
  readonly graceMs: number
  readonly profile: string | undefined
}

class StdioListener implements Listener {
  readonly name: string
  readonly type = 'stdio'
  readonly url = undefined
  readonly ended: Promise<void>
  readonly #context: ListenerContext
  readonly #settings: StdioListenerSettings
  readonly #streams: StdioStreams | undefined
  #onEnded: () => void = () => undefined
  #pipe: DuplexConnection | undefined

  constructor(context: ListenerContext, settings: StdioListenerSettings, streams: StdioStreams | undefined) {
    this.name = context.name
    this.#context = context
    this.#settings = settings
    this.#streams = streams
    this.ended = new Promise(resolve => (this.#onEnded = resolve))
  }

  async start(): Promise<void> {
    // Accessing the process's streams opens them, so do it late.
    const { input, output } = this.#streams ?? { input: process.stdin, output: process.stdout }
    const pipe = new DuplexConnection({
      channel: new LineChannel(input, output),
      context: this.#context,
      via: 'stdio',
      ...this.#settings,
    })
    this.#pipe = pipe
    pipe.start()
    void this.#follow(pipe)
  }

  async #follow(pipe: DuplexConnection): Promise<void> {
    await pipe.closed
    this.#onEnded()
  }

  async stop(graceMs: number): Promise<void> {
    await this.#pipe?.end('shutdown', graceMs)
  }
}

const MAX_LINE = 10 * 1024 * 1024

/** A stream pair with one message per line. */
export class LineChannel implements Channel {
  readonly #input: Readable
  readonly #output: Writable
  readonly #writer: LineWriter
  #events: ChannelEvents | undefined

  constructor(input: Readable, output: Writable) {
    this.#input = input
    this.#output = output
    this.#writer = new LineWriter(output, () => this.#events?.flow())
  }

  get isBlocked(): boolean {
    return this.#writer.isBlocked
  }

  open(events: ChannelEvents): void {
    this.#events = events
    const lines = new LineSplitter({
      maxLine: MAX_LINE,
      onLine: line => events.message(line),
      onTooLong: () => events.tooLong(MAX_LINE),
    })
    this.#input.on('data', (chunk: Buffer) => lines.push(chunk))
    this.#input.on('end', () => {
      lines.end()
      events.inputEnded()
    })
    this.#input.on('error', () => events.closed())
    const dropUnread = (): void => {
      this.#writer.drop()
      events.closed()
    }
    this.#output.on('error', dropUnread)
    this.#output.on('close', dropUnread)
  }

  pause(): void {
    this.#input.pause()
  }

  resume(): void {
    this.#input.resume()
  }

  writeOptional(message: string): boolean {
    return this.#writer.writeOptional(message)
  }

  write(message: EncodedMessage): void {
    this.#writer.write(message)
  }

  waitForDrain(): Promise<void> {
    return this.#writer.finished()
  }
}
