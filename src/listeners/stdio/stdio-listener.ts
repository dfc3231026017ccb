import type { Readable, Writable } from 'node:stream'
import type { Listener, ListenerConfig, ListenerContext } from '../../api/index.ts'
import type { Plugin } from '../../plugin.ts'
import { parseDuration } from '../../plugin.ts'
import type { Channel, ChannelEvents } from '../../net/channel.ts'
import { LineSplitter, replaceLineEnds } from '../../net/line-splitter.ts'
import type { EncodedMessage } from '../../util/encoded-message.ts'
import { ByteText, toBuffers, writePieces } from '../../util/encoded-message.ts'
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

const NEWLINE = Buffer.from('\n')

/** Larger output is written line by line instead of concatenated. */
const MAX_JOINED = 64 * 1024

/** Droppable messages are dropped above this many bytes. */
const MAX_WAITING = 4 * 1024 * 1024

const MAX_LINE = 10 * 1024 * 1024

/** A stream pair with one message per line. */
export class LineChannel implements Channel {
  readonly #input: Readable
  readonly #output: Writable
  readonly #writer: PipeWriter
  #events: ChannelEvents | undefined

  constructor(input: Readable, output: Writable) {
    this.#input = input
    this.#output = output
    this.#writer = new PipeWriter(output, () => this.#events?.flow())
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
    return this.#writer.notify(message)
  }

  write(message: EncodedMessage): void {
    this.#writer.write(message)
  }

  waitForDrain(): Promise<void> {
    return this.#writer.finished()
  }
}

/** Writes all messages in a tick as one chunk; pauses while the reader is behind. */
class PipeWriter {
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
  notify(message: string): boolean {
    if (this.#isGone || this.#waiting > MAX_WAITING) return false
    this.write(message)
    return true
  }

  write(message: EncodedMessage): void {
    if (this.#isGone) return
    if (message instanceof ByteText) this.#add(toSingleLine(message.text))
    else if (typeof message === 'string') this.#add(createByteText(message))
    else {
      for (const piece of toBuffers(message)) this.#enqueue(replaceLineEnds(piece))
      this.#enqueue(NEWLINE)
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
function createByteText(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1')
}

/** Replaces line breaks, which occur only between JSON values. */
function toSingleLine(json: string): string {
  return json.includes('\n') || json.includes('\r') ? json.replace(/[\r\n]/g, ' ') : json
}
