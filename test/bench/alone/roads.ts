/** Whole gateways from listener to connection, without any I/O: pipes and HTTP connections in memory. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { mkdtempSync } from 'node:fs'
import type { Server } from 'node:http'
import { join } from 'node:path'
import { Duplex, Readable, Writable } from 'node:stream'
import type { Plugin } from '../../../src/plugin.ts'
import { createGateway, type Gateway } from '../../../src/gateway/gateway.ts'
import { stdioListener } from '../../../src/listeners/stdio/stdio-listener.ts'
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

export type Kind = 'pipe' | 'http'

/** All that a gateway of the measurement is made of. */
export interface RoadSpec {
  readonly plugins: Plugins
  readonly ask: Ask
  /** A directory for what is written. */
  readonly directory: string
  /** A Redis for the plugin that needs one. */
  readonly redis?: string | undefined
}

/** Opens a gateway, with a session that has listed its tools. */
export function openRoad(kind: Kind, spec: RoadSpec): Promise<Road> {
  return kind === 'pipe' ? pipeRoad(spec) : httpRoad(spec)
}

async function gatewayOf(kind: Kind, { plugins, directory, redis }: RoadSpec, own: Plugin<never>[]): Promise<Gateway> {
  const upstream =
    kind === 'pipe'
      ? ({ type: 'stdio', command: 'unused', args: [], era: 'legacy' } as const)
      : ({ type: 'http', url: 'http://127.0.0.1:1/mcp', era: 'legacy' } as const)
  const spec = {
    listener: kind === 'pipe' ? 'stdio' : 'http',
    upstreams: { up: upstream },
    plugins,
    redis,
  } as const
  const config = { ...configOf(spec, mkdtempSync(join(directory, 'gateway-'))) }
  return createGateway(config, { plugins: [inMemoryServers(), ...own] })
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

async function pipeRoad(spec: RoadSpec): Promise<Road> {
  const input = new Readable({ read: () => undefined })
  const answers = new Answers()
  const output = new Writable({
    decodeStrings: false,
    write(chunk: Buffer | string, _encoding, done) {
      answers.came(linesIn(chunk))
      done()
    },
  })
  const gateway = await gatewayOf('pipe', spec, [onStreams(input, output)])
  await gateway.start()
  const send = (lines: string, count: number): Promise<void> => {
    const all = answers.expect(count)
    pushAll(input, lines)
    return all
  }
  await send(`${HELLO}\n`, 1)
  await send(`${INITIALIZED}\n${LIST}\n`, 1)
  const requests = new Requests(spec.ask)
  return {
    async call(times) {
      for (let made = 0; made < times; made += FLIGHTS) {
        let lines = ''
        for (let flight = 0; flight < FLIGHTS; flight++) lines += `${requests.next()}\n`
        await send(lines, FLIGHTS)
      }
      await settle(gateway, spec.plugins)
    },
    close: () => gateway.close(),
  }
}

/** In pieces of memory of their own, as Node reads from sockets and pipes. */
function pushAll(to: Readable, text: string): void {
  for (let at = 0; at < text.length; at += MOST_READ) to.push(Buffer.from(text.slice(at, at + MOST_READ), 'latin1'))
}

function linesIn(chunk: Buffer | string): number {
  let lines = 0
  for (let at = chunk.indexOf('\n'); at >= 0; at = chunk.indexOf('\n', at + 1)) lines++
  return lines
}

/** The listener on pipes, ahead of the one on those of the process. */
function onStreams(input: Readable, output: Writable): Plugin<never> {
  const listener = stdioListener({ input, output })
  return {
    name: 'listen-in-memory',
    setup(api) {
      const { createListener } = api.hooks
      const ahead = {
        for: (type: string) => ({
          tap: (make: Parameters<ReturnType<typeof createListener.for>['tap']>[1]) =>
            createListener.for(type).tap({ stage: 'trace' }, make),
        }),
      }
      return listener.setup({ ...api, hooks: { ...api.hooks, createListener: ahead } } as typeof api)
    },
  }
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

async function httpRoad(spec: RoadSpec): Promise<Road> {
  const gateway = await gatewayOf('http', spec, [])
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
