import type { HttpReply, JsonObject, Notification } from '../../src/plugin.ts'

/** Events that wait for a slow reader; more are left out, but never the result. */
const MAX_WAITING = 1024

const NAMES: ReadonlyMap<string, string> = new Map([
  ['notifications/progress', 'progress'],
  ['notifications/message', 'log'],
])

type End = { readonly value: JsonObject } | HttpReply

/** The body of a stream of events: what is said on the way, then the result. */
export class EventBody implements AsyncIterable<string> {
  /** Resolves with the first event. */
  readonly begun: Promise<undefined>
  readonly #waiting: string[] = []
  #isOver = false
  #begin: () => void = () => undefined
  #wake: () => void = () => undefined

  constructor() {
    this.begun = new Promise(resolve => (this.#begin = () => resolve(undefined)))
  }

  /** Progress and log messages; everything else is for clients of MCP. */
  tell({ method, params = {} }: Notification): void {
    const name = NAMES.get(method)
    if (name === undefined || this.#waiting.length >= MAX_WAITING) return
    const { progressToken: _token, _meta, ...told } = params
    this.#add(name, JSON.stringify(told))
    this.#begin()
  }

  finish(end: End): void {
    if ('value' in end) this.#add('result', JSON.stringify(end.value))
    else this.#add('error', typeof end.body === 'string' ? end.body : '{}')
    this.#isOver = true
    this.#wake()
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    for (;;) {
      const event = this.#waiting.shift()
      if (event !== undefined) yield event
      else if (this.#isOver) return
      else await new Promise<void>(resolve => (this.#wake = resolve))
    }
  }

  #add(name: string, data: string): void {
    this.#waiting.push(`event: ${name}\ndata: ${data}\n\n`)
    this.#wake()
  }
}
