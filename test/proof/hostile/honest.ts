/** A server that does what it should: `node honest.ts stdio`, or `http`, which prints its URL. A call takes 2 ms. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'

interface Message {
  readonly id?: number
  readonly method?: string
  readonly params?: { uri?: string; name?: string }
}

const SMALL = 'x'.repeat(1024)
const LARGE = '{"line":"quoted \\"text\\"\\n"}'.repeat(40_000)

const RESULTS: Readonly<Record<string, (params: Message['params']) => object>> = {
  initialize: () => ({
    protocolVersion: '2025-06-18',
    serverInfo: { name: 'honest', version: '1' },
    capabilities: { tools: {}, resources: {} },
  }),
  'tools/list': () => ({
    tools: ['echo', 'large'].map(name => ({ name, inputSchema: { type: 'object' } })),
  }),
  'resources/list': () => ({
    resources: ['file:///public/one', 'file:///secret/one'].map(uri => ({ uri, name: uri })),
  }),
  'resources/templates/list': () => ({
    resourceTemplates: [{ uriTemplate: 'file:///{+path}', name: 'files' }],
  }),
  'resources/read': params => ({
    contents: [{ uri: params?.uri, text: params?.uri?.includes('public') === true ? 'public' : 'SECRET' }],
  }),
  'tools/call': params => ({ content: [{ type: 'text', text: params?.name === 'large' ? LARGE : SMALL }] }),
}

function resultOf({ method = '', params }: Message): object | undefined {
  return method.startsWith('notifications/') ? undefined : (RESULTS[method]?.(params) ?? {})
}

function answer(text: string, send: (reply: string | undefined) => void): void {
  const message = JSON.parse(text) as Message
  const result = resultOf(message)
  const reply = result === undefined ? undefined : JSON.stringify({ jsonrpc: '2.0', id: message.id, result })
  if (message.method === 'tools/call') setTimeout(() => send(reply), 2)
  else send(reply)
}

if (process.argv[2] === 'stdio')
  createInterface({ input: process.stdin }).on('line', line => {
    answer(line, reply => reply !== undefined && process.stdout.write(`${reply}\n`))
  })
else {
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    request.on('end', () =>
      answer(text, reply => {
        response.writeHead(reply === undefined ? 202 : 200, { 'content-type': 'application/json' }).end(reply)
      }),
    )
  })
  server.listen(0, '127.0.0.1', () => {
    console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)
  })
}
