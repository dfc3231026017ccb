import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { TestContext } from 'node:test'
import { WebSocketServer, type ServerOptions, type WebSocket } from 'ws'
import { listenOn } from '../../../fixtures/listen.ts'

export interface Said {
  readonly id?: number | string
  readonly method?: string
  readonly params?: Record<string, unknown>
}

/** All that a scripted server answers: to `initialize` as it should, to the rest with its own method. */
export function answerTo({ id, method }: Said): string | undefined {
  if (id === undefined) return undefined
  if (method === 'server/discover')
    return JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'Method not found' } })
  const result =
    method === 'initialize'
      ? {
          protocolVersion: '2024-11-05',
          capabilities: { tools: {} },
          serverInfo: { name: 'old', version: '1' },
        }
      : { content: [{ type: 'text', text: String(method) }] }
  return JSON.stringify({ jsonrpc: '2.0', id, result })
}

export interface OldServer {
  readonly url: string
  readonly streams: ServerResponse[]
  readonly posts: { readonly said: Said; readonly headers: IncomingMessage['headers'] }[]
  /** Ends the open streams, as a server does that restarts. */
  cut(): void
}

export interface OldOptions {
  /** All that `endpoint` says; `$` stands for the session. */
  readonly endpoint?: string
  readonly answer?: (said: Said) => string | undefined
  /** Status of a POST; 202 where this says nothing. */
  readonly status?: (said: Said) => number | undefined
}

/** A server of HTTP+SSE whose answers a test decides. */
export async function oldServer(t: TestContext, options: OldOptions = {}): Promise<OldServer> {
  const { endpoint = '/post?session=$', answer = answerTo, status = () => undefined } = options
  const streams: ServerResponse[] = []
  const posts: OldServer['posts'] = []
  const server = createServer((request, response) => {
    if (request.method === 'GET') {
      streams.push(response)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(`event: endpoint\r\ndata: ${endpoint.replace('$', String(streams.length))}\r\n\r\n`)
      return
    }
    if (!request.url?.startsWith('/post')) return void response.writeHead(404).end('Cannot POST')
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const said = JSON.parse(Buffer.concat(chunks).toString()) as Said
      posts.push({ said, headers: request.headers })
      const code = status(said) ?? 202
      response.writeHead(code).end(code === 202 ? 'Accepted' : 'no such session')
      const text = code === 202 ? answer(said) : undefined
      if (text !== undefined) streams.at(-1)?.write(`event: message\ndata: ${text}\n\n`)
    })
  })
  const port = await listenOn(t, server)
  return {
    url: `http://127.0.0.1:${port}/sse`,
    streams,
    posts,
    cut: () => streams.forEach(stream => stream.destroy()),
  }
}

export interface WsServer {
  readonly url: string
  readonly sockets: WebSocket[]
  readonly heard: { readonly said: Said; readonly headers: IncomingMessage['headers'] }[]
}

/** A WebSocket server whose answers a test decides. */
export async function wsServer(
  t: TestContext,
  answer: (said: Said) => string | undefined = answerTo,
  options: ServerOptions = {},
): Promise<WsServer> {
  const http = createServer((_request, response) => void response.writeHead(404).end())
  const server = new WebSocketServer({ server: http, handleProtocols: () => 'mcp', ...options })
  const sockets: WebSocket[] = []
  const heard: WsServer['heard'] = []
  server.on('connection', (socket, { headers }) => {
    sockets.push(socket)
    socket.on('error', () => undefined)
    socket.on('message', data => {
      const said = JSON.parse(String(data)) as Said
      heard.push({ said, headers })
      const text = answer(said)
      if (text !== undefined) socket.send(text)
    })
  })
  return { url: `ws://127.0.0.1:${await listenOn(t, http)}/ws`, sockets, heard }
}
