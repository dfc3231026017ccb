/**
 * An MCP server with moods, on stdio or HTTP: `moody-server.ts <mood file> <stdio|port>`. The file says how it is:
 * `well`, `slow` (2 s an answer), `hung` (no answer), `dead` (gone), `flapping` (comes and goes).
 */
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createInterface } from 'node:readline'

interface Message {
  readonly id?: number | string
  readonly method: string
}

const [file = '', where = 'stdio'] = process.argv.slice(2)
const SLOW_MS = 2000
const LOOK_MS = 25
const FLAP_MS = 400

function mood(): string {
  return readFileSync(file, 'utf8').trim()
}

function answer({ id, method }: Message): string {
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'moody', version: '1' },
    },
    'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
    'tools/call': { content: [{ type: 'text', text: 'here' }] },
  }
  const result = results[method]
  const outcome = result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result }
  return JSON.stringify({ jsonrpc: '2.0', id, ...outcome })
}

/** Answers in its mood; never, when it is hung. */
function respond(text: string, send: (answer: string | undefined) => void): void {
  const message = JSON.parse(text) as Message
  if (message.id === undefined) return send(undefined)
  const now = mood()
  if (now === 'hung') return
  if (now === 'slow') setTimeout(() => send(answer(message)), SLOW_MS)
  else send(answer(message))
}

function onStdio(): void {
  createInterface({ input: process.stdin }).on('line', line =>
    respond(line, said => said !== undefined && process.stdout.write(`${said}\n`)),
  )
  process.stdin.on('end', () => process.exit())
  const startedAt = Date.now()
  const look = (): void => {
    const now = mood()
    if (now === 'dead' || (now === 'flapping' && Date.now() - startedAt > FLAP_MS)) process.exit(1)
  }
  look()
  setInterval(look, LOOK_MS)
}

function onHttp(): void {
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8')
    request.on('data', (chunk: string) => (body += chunk))
    request.on('end', () => {
      if (request.method !== 'POST') return response.writeHead(405).end()
      respond(body, said => {
        if (said === undefined) response.writeHead(202).end()
        else response.writeHead(200, { 'content-type': 'application/json' }).end(said)
      })
    })
  })
  let port = Number(where)
  const open = (): void => {
    server.listen(port, '127.0.0.1', () => {
      if (port === 0) console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)
      port = (server.address() as AddressInfo).port
    })
  }
  const look = (): void => {
    const now = mood()
    const isUp = now !== 'dead' && (now !== 'flapping' || Math.floor(Date.now() / FLAP_MS) % 2 === 0)
    if (isUp && !server.listening) open()
    if (isUp || !server.listening) return
    server.close()
    server.closeAllConnections()
  }
  open()
  setTimeout(() => setInterval(look, LOOK_MS), LOOK_MS * 4)
  process.on('disconnect', () => process.exit())
}

if (where === 'stdio') onStdio()
else onHttp()
