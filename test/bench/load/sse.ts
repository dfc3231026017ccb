/** A client of HTTP+SSE (2024-11-05): requests are posted, replies come on one stream. */
import { get, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { once } from 'node:events'
import { HttpMessages } from '../peers/http-messages.ts'
import { Lines } from '../peers/lines.ts'
import { Calls, requestParts } from './calls.ts'
import { openSocket } from './http.ts'
import type { Cell, Measured } from './messages.ts'

const DATA = 'data: '
const HELLO = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'bench', version: '1.0.0' },
}

/** One stream of events, and where its requests are posted. */
class Stream {
  readonly #reply: IncomingMessage
  readonly #waiting: ((data: Buffer) => void)[] = []
  onData: (data: Buffer) => void = data => this.#waiting.shift()?.(data)

  constructor(reply: IncomingMessage) {
    this.#reply = reply
    const lines = new Lines(line => {
      if (line.toString('latin1', 0, DATA.length) === DATA) this.onData(line.subarray(DATA.length))
    })
    reply.on('data', (chunk: Buffer) => lines.push(chunk))
  }

  next(): Promise<Buffer> {
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  close(): void {
    this.#reply.destroy()
  }
}

/** Opens a stream of its own, and keeps one connection busy for each request that may be under way. */
export async function measureSse(url: URL, cell: Cell): Promise<Measured> {
  const [reply] = (await once(get(url, { headers: { accept: 'text/event-stream' } }), 'response')) as [IncomingMessage]
  const stream = new Stream(reply)
  const endpoint = new URL((await stream.next()).toString().trim(), url)
  const sockets = await Promise.all(Array.from({ length: cell.concurrency }, () => openSocket(url)))
  try {
    await hello(stream, sockets[0] as Socket, endpoint)
    return await measure(stream, sockets, endpoint, cell)
  } finally {
    for (const socket of sockets) socket.destroy()
    stream.close()
  }
}

async function hello(stream: Stream, socket: Socket, endpoint: URL): Promise<void> {
  const say = (message: object): boolean => socket.write(wire(endpoint, JSON.stringify({ jsonrpc: '2.0', ...message })))
  for (const message of [
    { id: 1, method: 'initialize', params: HELLO },
    { id: 2, method: 'tools/list' },
  ]) {
    const answered = stream.next()
    say(message)
    await answered
    if (message.id === 1) say({ method: 'notifications/initialized' })
  }
}

function measure(stream: Stream, sockets: readonly Socket[], endpoint: URL, cell: Cell): Promise<Measured> {
  const parts = requestParts(cell.ask)
  return new Promise((resolve, reject) => {
    const calls = new Calls(cell, reject)
    let turn = 0
    const send = (): void => {
      const id = calls.next()
      if (id !== undefined) sockets[turn++ % sockets.length]?.write(wire(endpoint, parts.join(String(id))), 'latin1')
    }
    for (const socket of sockets) {
      const accepted = new HttpMessages(head => {
        if (!head.startsWith('HTTP/1.1 20')) reject(new Error(head))
      })
      socket.on('data', (chunk: Buffer) => accepted.push(chunk))
      socket.on('error', reject)
    }
    stream.onData = data => {
      calls.answered(data)
      if (!data.toString('latin1', 0, 80).includes('"method":"notifications/')) send()
    }
    for (let notifier = 0; notifier < cell.concurrency; notifier++) send()
    calls.measure().then(resolve, reject)
  })
}

function wire(url: URL, body: string): string {
  return (
    `POST ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\n` +
    `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
  )
}
