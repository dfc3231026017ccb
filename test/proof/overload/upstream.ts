import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

// A server that looks at no more than the beginning of what it is sent, and answers calls with 2 MB.

const TEXT = 'y'.repeat(2 * 1024 * 1024)
const INFO = {
  protocolVersion: '2025-06-18',
  capabilities: { tools: {} },
  serverInfo: { name: 'web', version: '1' },
}
const RESULTS: Readonly<Record<string, object>> = {
  initialize: INFO,
  ping: {},
  'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: TEXT }] },
}
const HEAD = /"id":([^,]+),"method":"([^"]+)"/

const server = createServer((request, response) => {
  let head = ''
  request.on('data', (chunk: Buffer) => {
    if (head.length < 1000) head += chunk.toString('latin1', 0, 1000)
  })
  request.on('end', () => {
    const [, id, method = ''] = HEAD.exec(head) ?? []
    if (id === undefined) return void response.writeHead(request.method === 'POST' ? 202 : 405).end()
    const result = RESULTS[method]
    const outcome =
      result === undefined
        ? '"error":{"code":-32601,"message":"Method not found"}'
        : `"result":${JSON.stringify(result)}`
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(`{"jsonrpc":"2.0","id":${id},${outcome}}`)
  })
})
server.listen(0, '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`),
)
process.stdin.on('end', () => process.exit()).resume()
