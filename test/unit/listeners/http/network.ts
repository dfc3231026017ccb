import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { WebSocket, type ClientOptions } from 'ws'
import { listenHttp } from '../../../../src/listeners/http/http-listener.ts'
import type { Clock, Listener, ListenerContext } from '../../../../src/api/index.ts'
import { FakeGate, log, realClock } from './fake-gate.ts'
import { fullSpec, Lines, parse, type Message } from './client.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

export interface Served {
  readonly gate: FakeGate
  readonly listener: Listener
  /** The address of one of its paths. */
  at(path: string): URL
}

const ON = { sse: { path: '/sse', messages: '/messages' }, ws: { path: '/ws' } }

/** An HTTP listener that serves HTTP+SSE and WebSocket too. */
export async function serveAll(t: TestContext, spec: object = {}, clock: Clock = realClock): Promise<Served> {
  const gate = new FakeGate()
  const full = { ...ON, ...fullSpec(spec) }
  let make: ((spec: object, context: ListenerContext) => Listener) | undefined
  await listenHttp.setup({
    config: { listeners: { main: full }, upstreams: {} },
    hooks: { createListener: { for: () => ({ tap: (run: typeof make) => (make = run) }) } },
  } as never)
  const listener = make?.(full, {
    name: 'main',
    directory: '.',
    log,
    clock,
    gate,
    authenticates: false,
  }) as Listener
  await listener.start()
  cleanup(t, () => listener.stop(0))
  return { gate, listener, at: path => new URL(path, listener.url) }
}

/** A WebSocket whose messages are read one by one. */
export class Talk {
  readonly socket: WebSocket
  /** The close code and reason. */
  readonly closed: Promise<[number, string]>
  readonly #got: Message[] = []
  #wake: () => void = () => undefined

  constructor(socket: WebSocket) {
    this.socket = socket
    this.closed = once(socket, 'close').then(([code, reason]) => [code as number, String(reason)])
    socket.on('error', () => undefined)
    socket.on('message', data => {
      this.#got.push(parse(String(data)))
      this.#wake()
    })
    socket.on('close', () => this.#wake())
  }

  send(message: object): void {
    this.socket.send(JSON.stringify({ jsonrpc: '2.0', ...message }))
  }

  /** The next message; undefined once it is closed. */
  async next(): Promise<Message | undefined> {
    while (this.#got.length === 0 && this.socket.readyState !== WebSocket.CLOSED)
      await new Promise<void>(resolve => (this.#wake = resolve))
    return this.#got.shift()
  }
}

export async function talk(url: URL, options: ClientOptions = {}): Promise<Talk> {
  const socket = dial(url, options)
  const conversation = new Talk(socket)
  await once(socket, 'open')
  return conversation
}

/** The HTTP status with which a WebSocket is refused. */
export async function refused(url: URL, options: ClientOptions = {}, protocols: string[] = ['mcp']): Promise<number> {
  const socket = dial(url, options, protocols)
  socket.on('error', () => undefined)
  const [, response] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }]
  socket.terminate()
  return response.statusCode
}

function dial(url: URL, options: ClientOptions, protocols: string[] = ['mcp']): WebSocket {
  const target = new URL(url)
  target.protocol = 'ws:'
  return new WebSocket(target, protocols, options)
}

/** An open event stream of HTTP+SSE. */
export interface OldStream {
  readonly status: number
  /** Address to post to, as the server gave it. */
  readonly endpoint: string
  next(): Promise<Message | undefined>
  /** Posts a message; resolves with the status. */
  post(message: object | string | readonly object[], headers?: Record<string, string>): Promise<number>
  close(): void
}

export async function openOldStream(url: URL, own: Record<string, string> = {}): Promise<OldStream> {
  const stopper = new AbortController()
  const headers = { accept: 'text/event-stream', ...own }
  const response = await fetch(url, { headers, signal: stopper.signal })
  const { Readable } = await import('node:stream')
  const body = Readable.fromWeb(response.body as never)
  body.on('error', () => undefined)
  const lines = new Lines(body)
  const data = async (): Promise<string | undefined> => {
    for (;;) {
      const line = await lines.next()
      if (line === undefined || line.startsWith('data: ')) return line?.slice(6)
    }
  }
  const endpoint = (await data()) ?? ''
  return {
    status: response.status,
    endpoint,
    next: async () => {
      const text = await data()
      return text === undefined ? undefined : parse(text)
    },
    post: async (message, headers) => {
      const whole: unknown = Array.isArray(message) ? message : Object.assign({ jsonrpc: '2.0' }, message)
      const text = typeof message === 'string' ? message : JSON.stringify(whole)
      const all = { 'content-type': 'application/json', ...headers }
      const answer = await fetch(new URL(endpoint, url), { method: 'POST', headers: all, body: text })
      await answer.arrayBuffer()
      return answer.status
    },
    close: () => stopper.abort(),
  }
}
