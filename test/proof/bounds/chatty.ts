import { createInterface } from 'node:readline'

/** A server on a pipe that says of each resource which somebody subscribed to that it changed, 200 times a second: `node chatty.ts`. */
const EVERY_MS = 5
const RESULTS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-06-18',
    serverInfo: { name: 'chatty', version: '1' },
    capabilities: { resources: { subscribe: true }, tools: {} },
  },
  'tools/list': { tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: 'x'.repeat(1024) }] },
  'resources/list': { resources: [] },
  'resources/templates/list': { resourceTemplates: [{ uriTemplate: 'news:///{+path}', name: 'news' }] },
}
const watched = new Set<string>()

function say(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
}

createInterface({ input: process.stdin }).on('line', line => {
  const {
    id,
    method = '',
    params,
  } = JSON.parse(line) as {
    id?: number
    method?: string
    params?: { uri?: string }
  }
  if (method === 'resources/subscribe' && params?.uri !== undefined) watched.add(params.uri)
  if (id !== undefined) say({ id, result: RESULTS[method] ?? {} })
})
setInterval(() => {
  for (const uri of watched) say({ method: 'notifications/resources/updated', params: { uri } })
}, EVERY_MS)
