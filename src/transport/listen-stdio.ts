import type { Readable, Writable } from 'node:stream'
import type { Listener, ListenerContext } from '../core/ports.ts'
import { parseDuration, type Plugin } from '../plugin.ts'
import { LineChannel } from './stdio/line-channel.ts'
import { Pipe } from './stdio/pipe.ts'

/** The two ends of a pipe. */
export interface StdioStreams {
  readonly input: Readable
  readonly output: Writable
}

/** The plugin of stdio listeners, on these streams instead of the process's own. */
export function stdioListener(streams?: StdioStreams): Plugin {
  return {
    name: 'listen-stdio',
    claims: { always: true },
    setup({ hooks, config }) {
      const graceMs = parseDuration(config.shutdown.grace)
      hooks.createListener.for('stdio').tap((_spec, context) => new StdioListener(context, graceMs, streams))
    },
  }
}

/** One client on this process's stdin and stdout, in either era. */
export const listenStdio: Plugin = stdioListener()

class StdioListener implements Listener {
  readonly name: string
  readonly type = 'stdio'
  readonly url = undefined
  readonly ended: Promise<void>
  readonly #context: ListenerContext
  readonly #graceMs: number
  readonly #streams: StdioStreams | undefined
  #onEnded: () => void = () => undefined
  #pipe: Pipe | undefined

  constructor(context: ListenerContext, graceMs: number, streams: StdioStreams | undefined) {
    this.name = context.name
    this.#context = context
    this.#graceMs = graceMs
    this.#streams = streams
    this.ended = new Promise(resolve => (this.#onEnded = resolve))
  }

  async start(): Promise<void> {
    // The process's streams are opened by touching them, so not before they are used.
    const { input, output } = this.#streams ?? { input: process.stdin, output: process.stdout }
    const pipe = new Pipe({
      channel: new LineChannel(input, output),
      context: this.#context,
      graceMs: this.#graceMs,
    })
    this.#pipe = pipe
    pipe.start()
    void this.#follow(pipe)
  }

  async #follow(pipe: Pipe): Promise<void> {
    await pipe.ended
    this.#onEnded()
  }

  async stop(graceMs: number): Promise<void> {
    await this.#pipe?.end('shutdown', graceMs)
  }
}
