import type { Readable, Writable } from 'node:stream'
import type { Listener, ListenerConfig, ListenerContext } from '../../api/index.ts'
import { parseDuration, type Plugin } from '../../plugin.ts'
import { LineChannel } from './line-channel.ts'
import { DuplexConnection } from '../duplex/duplex-connection.ts'

/** The two ends of a pipe. */
interface StdioStreams {
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
      hooks.createListener.for('stdio').tap((spec, context) => {
        const { profile } = spec as StdioListenerSpec
        return new StdioListener(context, { graceMs, profile }, streams)
      })
    },
  }
}

/** One client on this process's stdin and stdout, in either era. */
export const listenStdio: Plugin = stdioListener()

type StdioListenerSpec = Extract<ListenerConfig, { type: 'stdio' }>

interface Settings {
  readonly graceMs: number
  /** The view that the client gets. */
  readonly profile: string | undefined
}

class StdioListener implements Listener {
  readonly name: string
  readonly type = 'stdio'
  readonly url = undefined
  readonly ended: Promise<void>
  readonly #context: ListenerContext
  readonly #settings: Settings
  readonly #streams: StdioStreams | undefined
  #onEnded: () => void = () => undefined
  #pipe: DuplexConnection | undefined

  constructor(context: ListenerContext, settings: Settings, streams: StdioStreams | undefined) {
    this.name = context.name
    this.#context = context
    this.#settings = settings
    this.#streams = streams
    this.ended = new Promise(resolve => (this.#onEnded = resolve))
  }

  async start(): Promise<void> {
    // The process's streams are opened by touching them, so not before they are used.
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
    await pipe.ended
    this.#onEnded()
  }

  async stop(graceMs: number): Promise<void> {
    await this.#pipe?.end('shutdown', graceMs)
  }
}
