/** Whole gateways from listener to connection, without any I/O: HTTP connections in memory. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtempSync } from 'node:fs'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { Duplex, type Readable } from 'node:stream'
import { createGateway, type Gateway } from '../../../src/gateway/gateway.ts'
import { API_KEY, type Plugins } from '../features.ts'
import { requestParts } from '../load/calls.ts'
import type { Ask } from '../load/messages.ts'
import { configOf } from '../setup/gateways.ts'
import { inMemoryServers } from './memory-server.ts'

/** Calls under way at the same time. */
export const FLIGHTS = 16
/** Bytes that Node reads at once. */
const MOST_READ = 64 * 1024
const VERSION = '2025-11-25'
const HELLO = JSON.stringify({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: VERSION, capabilities: {}, clientInfo: { name: 'bench', version: '1' } },
})
const INITIALIZED = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
const LIST = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'

/** A gateway that can be called so many times. */
export interface Road {
  call(times: number): Promise<void>
  close(): Promise<void>
}

/** All that a gateway of the measurement is made of. */
export interface RoadSpec {
  readonly plugins: Plugins
  readonly ask: Ask
  /** A directory for what is written. */
  readonly directory: string
}

async function gatewayOf({ plugins, directory }: RoadSpec): Promise<Gateway> {
  const up = { type: 'http', url: 'http://127.0.0.1:1/mcp', era: 'legacy' } as const
  const config = configOf({ listener: 'http', upstreams: { up }, plugins }, mkdtempSync(join(directory, 'gateway-')))
  return createGateway(config, { plugins: [inMemoryServers()] })
}

/** Lets a gateway write what it would keep for as long as others are called; most write by the batch. */
async function settle(gateway: Gateway, plugins: Plugins): Promise<void> {
  if (plugins === 'activity') await gateway.control('activity.flush')
}

/** Wakes whoever waits for so many answers. */
class Answers {
  #left = 0
  #all: () => void = () => undefined

  expect(count: number): Promise<void> {
    this.#left = count
    return new Promise(resolve => (this.#all = resolve))
  }

  came(count: number): void {
    this.#left -= count
    if (this.#left === 0) setImmediate(this.#all)
  }
}

/** So many requests, with ids that no other has. */
class Requests {
  readonly #parts: readonly string[]
  #id = 1_000_000

  constructor(ask: Ask) {
    this.#parts = requestParts({ ...ask, tool: `up__${ask.tool ?? 'small'}` })
  }

  next(): string {
    return this.#parts.join(String(++this.#id))
  }
}

/** In pieces of memory of their own, as Node reads from sockets. */
function pushAll(to: Readable, text: string): void {
  for (let at = 0; at < text.length; at += MOST_READ) to.push(Buffer.from(text.slice(at, at + MOST_READ), 'latin1'))
}

/** One connection of a client in memory. */
class Connection extends Duplex {
  readonly remoteAddress = '127.0.0.1'
  readonly #answered: (response: string) => void

  constructor(answered: (response: string) => void) {
    super({ decodeStrings: false })
    this.#answered = answered
  }

  destroySoon(): void {
    this.destroy()
  }

  override _read(): void {
    // Requests are pushed.
  }

  override _write(chunk: Buffer | string, _encoding: string, done: () => void): void {
    this.#answered(chunk.toString('latin1'))
    done()
  }
}

/** Opens a gateway, with a session that has listed its tools. */
export async function openRoad(spec: RoadSpec): Promise<Road> {
  const gateway = await gatewayOf(spec)
  const server = await startedServer(gateway)
  const host = new URL(gateway.listeners[0]?.url ?? '').host
  const answers = new Answers()
  let session = ''
  const answered = (response: string): void => {
    if (!/^HTTP\/1.1 20[02] /.test(response)) throw new Error(`not an answer: ${response.slice(0, 500)}`)
    session ||= /\r\nmcp-session-id: *([^\r\n]+)/i.exec(response)?.[1] ?? ''
    answers.came(1)
  }
  const connections: Connection[] = []
  const connected = (nth: number): Connection => {
    // When it is needed, as the server cuts those that say nothing.
    const connection = (connections[nth] ??= new Connection(answered))
    if (connection.readableFlowing === null) server.emit('connection', connection)
    return connection
  }
  const send = (bodies: readonly string[]): Promise<void> => {
    const all = answers.expect(bodies.length)
    bodies.forEach((body, nth) => pushAll(connected(nth), `${headText(host, session, body.length)}${body}`))
    return all
  }
  for (const body of [HELLO, INITIALIZED, LIST]) await send([body])
  const requests = new Requests(spec.ask)
  return {
    async call(times) {
      for (let made = 0; made < times; made += FLIGHTS)
        await send(Array.from({ length: FLIGHTS }, () => requests.next()))
      await settle(gateway, spec.plugins)
    },
    close: () => gateway.close(),
  }
}

/** The server that the gateway's listener opens, which takes any stream as a connection. */
async function startedServer(gateway: Gateway): Promise<Server> {
  let server: Server | undefined
  const found = (message: unknown): void => {
    server = (message as { readonly server: Server }).server
  }
  subscribe('tracing:net.server.listen:asyncStart', found)
  try {
    await gateway.start()
  } finally {
    unsubscribe('tracing:net.server.listen:asyncStart', found)
  }
  if (server === undefined) throw new Error('no server was opened')
  return server
}

function headText(host: string, session: string, length: number): string {
  const own = session === '' ? '' : `mcp-protocol-version: ${VERSION}\r\nmcp-session-id: ${session}\r\n`
  return (
    `POST /mcp HTTP/1.1\r\nhost: ${host}\r\naccept: application/json, text/event-stream\r\n` +
    `content-type: application/json\r\nx-api-key: ${API_KEY}\r\n${own}content-length: ${length}\r\n\r\n`
  )
}
