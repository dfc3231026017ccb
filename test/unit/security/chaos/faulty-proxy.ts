import { request as httpRequest } from 'node:http'
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { ReservedPort } from '../../../../src/testing/upstream-http.ts'
import { reset } from '../../../fixtures/reset.ts'

/** All that can go wrong between two programs on a network. */
export const FAULTS = [
  'refused',
  'reset before the request',
  'reset after the request',
  'half a response',
  'garbage',
  'slow drip',
  'black hole',
  'truncated chunk',
  'duplicate response',
] as const
export type Fault = (typeof FAULTS)[number]

interface Ask {
  readonly head: string
  readonly body: string
}

interface Reply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Passes HTTP requests on to a server, and spoils what belongs to tool calls with one fault at a time. */
export class FaultyProxy {
  fault: Exclude<Fault, 'refused'> | undefined = undefined
  readonly #target: URL
  readonly #sockets = new Set<Socket>()
  #server: Server | undefined
  #port = 0
  #kept: ReservedPort | undefined
  #calls = 0

  constructor(target: string) {
    this.#target = new URL(target)
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}${this.#target.pathname}`
  }

  async listen(): Promise<void> {
    await this.#kept?.release()
    this.#kept = undefined
    const server = createServer(socket => this.#accept(socket))
    await new Promise<void>(resolve => server.listen(this.#port, '127.0.0.1', resolve))
    this.#server = server
    this.#port = (server.address() as AddressInfo).port
  }

  /** Connections are refused until it listens again, and those that are open end. */
  async refuse(): Promise<void> {
    await this.#stop()
    this.#kept = await ReservedPort.reserve(this.#port)
  }

  async close(): Promise<void> {
    await this.#stop()
    await this.#kept?.release()
  }

  async #stop(): Promise<void> {
    const closed = new Promise(resolve => this.#server?.close(resolve) ?? resolve(undefined))
    this.#server = undefined
    for (const socket of this.#sockets) reset(socket)
    await closed
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('close', () => this.#sockets.delete(socket)).on('error', () => undefined)
    let text = ''
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
      for (let ask = takeAsk(text); ask !== undefined; ask = takeAsk(text)) {
        text = text.slice(ask.head.length + ask.body.length)
        void this.#serve(ask, socket)
      }
    })
  }

  async #serve(ask: Ask, socket: Socket): Promise<void> {
    const fault = ask.body.includes('"method":"tools/call"') ? this.fault : undefined
    if (fault === 'reset before the request') return void reset(socket)
    const reply = await this.#pass(ask)
    if (socket.destroyed) return
    if (fault === undefined) socket.write(written(reply))
    else this.#spoil(fault, reply, socket)
  }

  #spoil(fault: Exclude<Fault, 'refused'>, reply: Reply, socket: Socket): void {
    const text = written(reply)
    if (fault === 'reset after the request') reset(socket)
    else if (fault === 'half a response') socket.end(text.slice(0, text.length - (reply.body.length >> 1)))
    else if (fault === 'garbage') socket.end(Buffer.from('\u0000\u00ff\u0001not HTTP\r\n\r\n{"id":1}', 'latin1'))
    else if (fault === 'truncated chunk') socket.end(cutChunk(reply))
    else if (fault === 'duplicate response') socket.write(text + text)
    else if (fault === 'slow drip') drip(text, socket, ++this.#calls % 2 === 0 ? 64 : 1)
  }

  #pass({ head, body }: Ask): Promise<Reply> {
    const [start = '', ...lines] = head.trimEnd().split('\r\n')
    const method = start.slice(0, start.indexOf(' '))
    // A stream that stays open is not what is looked at here.
    if (method === 'GET') return Promise.resolve({ status: 405, headers: {}, body: '' })
    const headers = Object.fromEntries(lines.map(line => headerOf(line)))
    return new Promise(resolve => {
      const sent = httpRequest(this.#target, { method, headers }, response => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const { 'content-type': type, 'mcp-session-id': session } = response.headers
          const kept = Object.entries({ 'content-type': type, 'mcp-session-id': session })
          const known = kept.filter((entry): entry is [string, string] => typeof entry[1] === 'string')
          const whole = Buffer.concat(chunks).toString()
          resolve({ status: response.statusCode ?? 500, headers: Object.fromEntries(known), body: whole })
        })
      })
      sent.on('error', () => resolve({ status: 502, headers: {}, body: '' }))
      sent.end(body)
    })
  }
}

function headerOf(line: string): readonly [string, string] {
  const colon = line.indexOf(':')
  return [line.slice(0, colon), line.slice(colon + 1).trim()]
}

/** The first request of a text, once all of it is there. Bodies are ASCII. */
function takeAsk(text: string): Ask | undefined {
  const end = text.indexOf('\r\n\r\n') + 4
  if (end < 4) return undefined
  const head = text.slice(0, end)
  const length = Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
  return text.length < end + length ? undefined : { head, body: text.slice(end, end + length) }
}

function headOf({ status, headers }: Reply): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} OK\r\n${lines.join('')}`
}

function written(reply: Reply): string {
  return `${headOf(reply)}content-length: ${Buffer.byteLength(reply.body)}\r\n\r\n${reply.body}`
}

function cutChunk(reply: Reply): string {
  const size = reply.body.length.toString(16)
  return `${headOf(reply)}transfer-encoding: chunked\r\n\r\n${size}\r\n${reply.body.slice(0, 20)}`
}

/** Writes so many bytes each 20 ms. */
function drip(text: string, socket: Socket, bytes: number): void {
  let at = 0
  const timer = setInterval(() => {
    if (socket.destroyed || at >= text.length) return clearInterval(timer)
    socket.write(text.slice(at, (at += bytes)))
  }, 20)
}
