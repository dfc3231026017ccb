import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { Agent, createServer, request, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'
import { WebSocket } from 'ws'
import { type JsonObject, isObject } from '../../../../src/protocol/json/json.ts'
import { type Plugin } from '../../../../src/plugin.ts'
import { definePlugin } from '../../../fixtures/define-plugin.ts'
import { closeAfter, testGateway } from '../../../../src/testing/index.ts'
import { Lines } from '../../listeners/http/client.ts'
import { type Ends, stdioOn } from '../../fixtures/stdio-on.ts'
import { script } from '../../fixtures/upstream-bench.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

/** All that a rule could decide by. */
export interface Judged {
  readonly method: string
  readonly params: JsonObject
}

/** All that a server got. */
export interface Received {
  readonly upstream: string
  readonly body: string
  readonly headers?: IncomingHttpHeaders
}

/** All that came back to the client; `status` only over HTTP. */
export interface Said {
  readonly status?: number
  readonly text: string
}

/** Ways to the gateway: HTTP in both eras, REST, a pipe in the legacy era, a WebSocket in the modern one. */
export type Way = 'modern' | 'legacy' | 'rest' | 'pipe' | 'socket'

export interface World {
  readonly judged: readonly Judged[]
  received(): Promise<readonly Received[]>
  readonly send: Readonly<Record<Way, (body: string, headers?: Headers) => Promise<Said>>>
}

/** Header lines by name; several values are several lines. */
export type Headers = Readonly<Record<string, string | readonly string[]>>

const INITIALIZE =
  '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}'
const HTTP = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** One gateway with two servers – HTTP in the modern era, a pipe in the legacy one –, and everything written down. */
export async function world(t: TestContext): Promise<World> {
  const directory = await mkdtemp(join(tmpdir(), 'one-meaning-'))
  cleanup(t, () => rm(directory, { recursive: true, force: true }))
  const lines = join(directory, 'lines')
  const web: Received[] = []
  const judged: Judged[] = []
  const streams = { input: new PassThrough(), output: new PassThrough() }
  const old = { type: 'stdio', command: process.execPath, args: [script('raw-echo-server.mjs'), lines] }
  const { url } = closeAfter(
    t,
    await testGateway({
      plugins: [witness(judged), stdioOn(streams)],
      config: {
        listeners: { main: { type: 'http', port: 0, ws: {} }, pipe: { type: 'stdio' } },
        filters: { tools: { deny: ['*__secret'] }, prompts: { deny: ['*__secret'] } },
        rest: {},
        upstreams: { web: { type: 'http', url: await server(t, web) }, old },
      },
    }),
  )
  const post = poster(t, url)
  return {
    judged,
    received: async () => [...web, ...(await linesOf(lines))],
    send: {
      modern: (body, headers) => post('/mcp', body, { ...HTTP, ...headers }),
      legacy: await legacyPoster(post),
      rest: (body, headers) => post('/tools/call', body, { ...HTTP, accept: 'application/json', ...headers }),
      pipe: await piped(streams),
      socket: await socketed(t, url),
    },
  }
}

/** Notes what the rules decide by. */
function witness(judged: Judged[]): Plugin {
  return definePlugin({
    name: 'witness',
    setup({ hooks }) {
      hooks.request.tap({ stage: 'policy' }, ({ method, params = {} }) => {
        judged.push({ method, params: structuredClone(params) })
        return undefined
      })
    },
  })
}

const OFFERS: Readonly<Record<string, JsonObject>> = {
  'server/discover': {
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {}, prompts: {}, completions: {} },
  },
  'tools/list': { tools: ['open', 'secret'].map(name => ({ name, inputSchema: { type: 'object' } })) },
  'prompts/list': { prompts: [{ name: 'open' }, { name: 'secret' }] },
  'tools/call': { content: [] },
  'prompts/get': { messages: [] },
  'completion/complete': { completion: { values: [] } },
}

/** A modern server that keeps every body and its headers. */
async function server(t: TestContext, received: Received[]): Promise<string> {
  const listening = createServer((incoming, response) => {
    void text(incoming).then(body => {
      received.push({ upstream: 'web', body, headers: incoming.headers })
      const { id, method } = JSON.parse(body) as { id?: number; method: string }
      const offer = OFFERS[method]
      const freshness = { resultType: 'complete', ttlMs: 60_000, cacheScope: 'private' }
      const answer =
        offer === undefined ? { error: { code: -32601, message: 'no' } } : { result: { ...freshness, ...offer } }
      response.writeHead(offer === undefined ? 404 : 200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
    })
  })
  listening.listen(0, '127.0.0.1')
  await once(listening, 'listening')
  cleanup(t, () => {
    listening.close()
    listening.closeAllConnections()
  })
  return `http://127.0.0.1:${(listening.address() as AddressInfo).port}/mcp`
}

async function linesOf(file: string): Promise<Received[]> {
  const all = (await readFile(file, 'utf8')).split('\n')
  return all.filter(line => line !== '').map(body => ({ upstream: 'old', body }))
}

type Poster = (path: string, body: string, headers: Headers) => Promise<Said & { session?: string }>

function poster(t: TestContext, url: string): Poster {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  cleanup(t, () => agent.destroy())
  return async (path, body, headers) => {
    const length = { 'content-length': String(Buffer.byteLength(body)) }
    const outgoing = request(new URL(path, url), {
      method: 'POST',
      agent,
      headers: { ...headers, ...length },
    })
    outgoing.end(body)
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage]
    const session = response.headers['mcp-session-id']
    return {
      status: response.statusCode ?? 0,
      text: await text(response),
      ...(typeof session === 'string' ? { session } : {}),
    }
  }
}

async function legacyPoster(post: Poster): Promise<World['send']['legacy']> {
  const { session = '' } = await post('/mcp', INITIALIZE, HTTP)
  const own = { ...HTTP, 'mcp-session-id': session, 'mcp-protocol-version': '2025-11-25' }
  return (body, headers) => post('/mcp', body, { ...own, ...headers })
}

async function piped({ input, output }: Ends): Promise<World['send']['pipe']> {
  const lines = new Lines(output)
  const send = async (body: string): Promise<Said> => {
    input.write(`${body}\n`)
    for (;;) {
      const line = (await lines.next()) ?? ''
      if (isAnswer(line)) return { text: line }
    }
  }
  await send(INITIALIZE)
  return send
}

async function socketed(t: TestContext, url: string): Promise<World['send']['socket']> {
  const socket = new WebSocket(new URL('/ws', url.replace('http', 'ws')), ['mcp'])
  await once(socket, 'open')
  cleanup(t, () => socket.terminate())
  const queue: string[] = []
  let wake = (): void => undefined
  socket.on('message', (data: Buffer) => {
    if (isAnswer(data.toString())) queue.push(data.toString())
    wake()
  })
  return async body => {
    socket.send(body)
    while (queue.length === 0) await new Promise<void>(resolve => (wake = resolve))
    return { text: queue.shift() ?? '' }
  }
}

/** All that is no notification. */
function isAnswer(line: string): boolean {
  const message = JSON.parse(line) as unknown
  return !isObject(message) || message.method === undefined
}
