import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A server over HTTP that keeps all that reaches it. */
export interface TellTale {
  readonly port: number
  /** Request lines, headers and bodies so far. */
  heard(): string
  close(): Promise<void>
}

interface Said {
  readonly id?: number | string
  readonly method: string
  readonly params?: { readonly name?: string }
}

const TOOLS = ['fine', 'fail', 'crash', 'deny'].map(name => ({ name, inputSchema: { type: 'object' } }))

/** Tells in every error what it was sent: parameters and headers, as they came and decoded. */
export async function tellTale(): Promise<TellTale> {
  const heard: string[] = []
  const server = createServer((request, response) => {
    const { url = '', rawHeaders } = request
    void text(request)
      .then(body => {
        heard.push(url, decodeURIComponent(url), rawHeaders.join('\n'), body)
        answer(request, response, body)
      })
      .catch(() => response.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    heard: () => heard.join('\n'),
    close: async () => {
      server.closeAllConnections()
      await new Promise(resolve => server.close(resolve))
    },
  }
}

/** Answers a request as MCP wants it, and tells in every error what the request was. */
export function answer(request: IncomingMessage, response: ServerResponse, body: string): void {
  if (request.method !== 'POST') return void response.writeHead(405).end()
  const { id, method, params } = JSON.parse(body) as Said
  if (id === undefined) return void response.writeHead(202).end()
  const say = (part: object): void => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ jsonrpc: '2.0', id, ...part }))
  }
  if (method === 'tools/call') call(String(params?.name), shownOf(request), say, response)
  else say(ANSWERS[method] ?? { error: { code: -32601, message: 'Method not found' } })
}

const ANSWERS: Readonly<Record<string, object>> = {
  initialize: {
    result: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'tells', version: '1' },
    },
  },
  'tools/list': { result: { tools: TOOLS } },
}

/** All that a request was sent with, as it came and in base64. */
function shownOf({ url = '', rawHeaders }: IncomingMessage): string {
  const values = [...new URL(url, 'http://here').searchParams.values(), ...rawHeaders]
  return [url, ...values, ...values.map(value => Buffer.from(value).toString('base64'))].join(' , ')
}

function call(tool: string, shown: string, say: (part: object) => void, response: ServerResponse): void {
  if (tool === 'fine') return say({ result: { content: [{ type: 'text', text: 'fine' }] } })
  if (tool === 'fail') return say({ error: { code: -32000, message: shown, data: { [shown]: shown } } })
  const plain = shown.replace(/[^\x20-\x7e]|"/g, '').slice(0, 4000)
  if (tool === 'deny') response.writeHead(401, { 'www-authenticate': `Bearer error="${plain}"` }).end(shown)
  else response.writeHead(500, { 'content-type': 'text/plain' }).end(shown)
}
