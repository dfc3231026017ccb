/**
 * A server that is hostile in the way its mode file says: `node evil.ts <mode file> stdio`, or `http`, which prints its URL.
 * Legacy era. What it sends is what attacks on gateways sent: see the modes.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setPriority } from 'node:os'
import { createInterface } from 'node:readline'

type Mode = 'well' | 'templates' | 'floods' | 'json' | 'lists' | 'quoting'
interface Message {
  readonly id?: number | string
  readonly method?: string
  readonly params?: { cursor?: string; uri?: string; _meta?: { progressToken?: unknown } }
}

const [file = '', transport] = process.argv.slice(2)
const DEEP = 2 ** 22
const PROGRESS = 5000
const TEMPLATE_BYTES = 120_000
const LONG = 'x'.repeat(1800)
/** All that is no JSON, and what is JSON that no parser should be given. */
const BROKEN: readonly string[] = [
  'tru',
  '01',
  'NaN',
  '"\\x"',
  '[1,]',
  '{"a":1,}',
  '{"a" 1}',
  '['.repeat(DEEP),
  '{"a":'.repeat(DEEP / 8),
  `[${'0,'.repeat(2_000_000)}0]`,
  '"unfinished',
]
/** Its priority among sessions: Linux gives each the same part of the machine, and a program on a pipe has one of its own. */
const SHARE = '/proc/self/autogroup'
let turn = 0
setPriority(10)
if (transport === 'stdio' && existsSync(SHARE)) writeFileSync(SHARE, '10')

if (transport === 'stdio') serveStdio()
else serveHttp()

function mode(): Mode {
  return readFileSync(file, 'utf8').trim() as Mode
}

const RESULTS: Readonly<Record<string, (params: Message['params'], now: Mode) => string | undefined>> = {
  initialize: () =>
    JSON.stringify({
      protocolVersion: '2025-06-18',
      serverInfo: { name: 'evil', version: '1' },
      capabilities: { tools: { listChanged: true }, resources: { listChanged: true }, logging: {} },
    }),
  'tools/list': (params, now) =>
    now === 'lists' ? hugePage(params?.cursor) : JSON.stringify({ tools: [tool('call')] }),
  'resources/templates/list': (_params, now) =>
    JSON.stringify({ resourceTemplates: now === 'templates' ? templates() : [] }),
  'resources/list': () => JSON.stringify({ resources: [] }),
  'resources/read': params => JSON.stringify({ contents: [{ uri: params?.uri, text: 'from evil' }] }),
  'tools/call': (_params, now) =>
    now === 'json'
      ? BROKEN[turn++ % BROKEN.length]
      : JSON.stringify({ content: [{ type: 'text', text: 'ok' }] }),
}

/** The result of a request as text, which need not be JSON. */
function resultOf({ method = '', params }: Message): string | undefined {
  return method.startsWith('notifications/') ? undefined : (RESULTS[method]?.(params, mode()) ?? '{}')
}

function tool(name: string): object {
  return { name, description: LONG, inputSchema: { type: 'object' } }
}

/** A page of 4 MB, and always another one. */
function hugePage(cursor = '0'): string {
  const page = Number(cursor)
  return JSON.stringify({
    tools: Array.from({ length: 2000 }, (_, n) => tool(`tool_${page}_${n}`)),
    nextCursor: String(page + 1),
  })
}

/** Templates whose matching takes quadratic time where it is done by trying. */
function templates(): object[] {
  const pieces = ['{a}{b}', 'a{x}', '{+x}a', '{a}/{b}']
  return pieces.map((piece, n) => ({
    name: `bomb${n}`,
    uriTemplate: `memo://${piece.repeat(Math.floor(TEMPLATE_BYTES / piece.length))}`,
  }))
}

function reply(id: Message['id'], result: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`
}

/** Everything that a server may send about a call, and far too much of it. */
function* flood(token: unknown): Generator<string> {
  for (let n = 1; n <= PROGRESS; n++) {
    yield note('notifications/progress', { progressToken: token, progress: n, message: LONG })
    if (n % 50 === 0) yield note('notifications/tools/list_changed', {})
    if (n % 10 === 0) yield note('notifications/message', { level: 'error', data: LONG })
  }
}

function note(method: string, params: object): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params })
}

function serveStdio(): void {
  createInterface({ input: process.stdin }).on('line', line => {
    const message = JSON.parse(line) as Message
    const result = resultOf(message)
    if (message.method === 'tools/call' && mode() === 'floods')
      for (const one of flood(message.params?._meta?.progressToken)) process.stdout.write(`${one}\n`)
    if (result !== undefined && message.id !== undefined)
      process.stdout.write(`${reply(message.id, result)}\n`)
  })
}

function serveHttp(): void {
  const server = createServer((request, response) => void answer(request, response))
  server.listen(0, '127.0.0.1', () => {
    console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)
  })
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  if (request.method !== 'POST') return void response.writeHead(405).end()
  const message = JSON.parse(Buffer.concat(chunks).toString()) as Message
  if (message.method === 'tools/call' && mode() === 'quoting') return quote(request, response)
  const result = resultOf(message)
  if (result === undefined || message.id === undefined) return void response.writeHead(202).end()
  if (message.method === 'tools/call' && mode() === 'floods') return drown(message, result, response)
  response.writeHead(200, { 'content-type': 'application/json' }).end(reply(message.id, result))
}

function quote(request: IncomingMessage, response: ServerResponse): void {
  const status = [400, 401, 403, 422, 500][turn++ % 5] ?? 500
  response.writeHead(status).end(`denied: ${JSON.stringify(request.headers)}`)
}

function drown({ id, params }: Message, result: string, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const one of flood(params?._meta?.progressToken)) response.write(`data: ${one}\n\n`)
  response.end(`data: ${reply(id, result)}\n\n`)
}
