import type { UpstreamContext } from '../../../src/api/index.ts'
import type { Plugin } from '../../../src/plugin.ts'
import { LineSplitter, toBuffers, type EncodedMessage } from '../../../src/util/messages.ts'
import { SharedTransport } from '../../../src/upstreams/transport.ts'
import { McpUpstream } from '../../../src/upstreams/mcp-upstream.ts'
import type { TransportEvents } from '../../../src/upstreams/transport.ts'
import { Answers } from '../peers/answers.ts'

const MOST_BYTES = 16 * 1024 * 1024
const ID = /"id":("?[\w-]+"?)/
const NAME = /"name":"(\w+)"/
/** Bytes of a request in which its id and the name of its tool stand. */
const HEAD_BYTES = 300

/** A server on a pipe in memory: it reads all that was written in one turn of the loop, and answers in the next. */
class MemoryServer extends SharedTransport {
  protected readonly output = this
  readonly pid = undefined
  readonly unread = 0
  readonly #lines: LineSplitter
  readonly #answers = new Answers(4, '')
  /** Ends of replies by the name of the tool: all but the id. */
  readonly #tails = new Map<string, string>()
  #queue: EncodedMessage[] = []
  #bytes = 0

  constructor(events: TransportEvents, context: UpstreamContext) {
    super(context, events)
    this.#lines = new LineSplitter({
      maxLine: MOST_BYTES,
      onLine: this.receive,
      onTooLong: () => undefined,
    })
  }

  async close(): Promise<void> {
    // There is nothing to end.
  }

  write(message: EncodedMessage, bytes: number): void {
    if (this.#queue.length === 0) setImmediate(() => this.#read())
    this.#queue.push(message)
    this.#bytes += bytes
  }

  #read(): void {
    const messages = this.#queue
    // Put together as for the pipe of a process, though nobody reads it there.
    messages.join('\n')
    this.#queue = []
    this.#bytes = 0
    let replies = ''
    for (const message of messages) replies += this.#reply(message)
    const chunk = Buffer.from(replies, 'latin1')
    if (chunk.length > 0) setImmediate(() => this.#lines.push(chunk))
  }

  /** The line that answers a request, put together at next to no cost. */
  #reply(message: EncodedMessage): string {
    const [first = ''] = typeof message === 'string' ? [message] : toBuffers(message)
    const head = typeof first === 'string' ? first : first.toString('latin1', 0, HEAD_BYTES)
    if (!head.includes('"tools/call"')) return lineOf(this.#answers.answer(head))
    const tool = NAME.exec(head)?.[1] ?? ''
    return `{"jsonrpc":"2.0","id":${ID.exec(head)?.[1] ?? '0'},${this.#tails.get(tool) ?? this.#learn(tool)}\n`
  }

  #learn(tool: string): string {
    const request = JSON.stringify({ id: 0, method: 'tools/call', params: { name: tool } })
    const answer = this.#answers.answer(request) ?? ''
    const tail = answer.slice(answer.indexOf('"result":'))
    this.#tails.set(tool, tail)
    return tail
  }
}

function lineOf(message: string | undefined): string {
  return message === undefined ? '' : `${message}\n`
}

/** Makes every server, whatever its type, one in memory behind a connection as processes have it. */
export function inMemoryServers(): Plugin<never> {
  return {
    name: 'memory-servers',
    setup({ hooks }) {
      for (const type of ['stdio', 'http'] as const)
        hooks.createUpstream.for(type).tap({ stage: 'trace' }, (spec, context) => {
          if (spec.type !== 'stdio' && spec.type !== 'http') return undefined
          return new McpUpstream(spec, context, events => new MemoryServer(events, context))
        })
    },
  }
}
