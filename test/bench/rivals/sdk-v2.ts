/** The plainest gateway one writes with SDK v2: its clients behind its servers. See spec.ts for its arguments. */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { readSpec, split } from './spec.ts'

const INFO = { name: 'sdk-v2-gateway', version: '1.0.0' }
const { listener, upstreams, era } = readSpec(process.argv.slice(2))
const mode = era === 'legacy' ? 'legacy' : { pin: '2026-07-28' }
const clients = new Map(
  await Promise.all(
    Object.entries(upstreams).map(async ([name, place]) => {
      const client = new Client(INFO, { versionNegotiation: { mode } })
      const transport =
        'url' in place ? new StreamableHTTPClientTransport(new URL(place.url)) : new StdioClientTransport(place)
      await client.connect(transport)
      return [name, client] as const
    }),
  ),
)

function newServer(): Server {
  const server = new Server(INFO, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', async () => {
    const lists = [...clients].map(async ([name, client]) => {
      const { tools } = await client.listTools()
      return tools.map(tool => ({ ...tool, name: `${name}__${tool.name}` }))
    })
    return { tools: (await Promise.all(lists)).flat() }
  })
  server.setRequestHandler('tools/call', async ({ params }, { mcpReq }) => {
    const [upstream, name] = split(params.name)
    const token = params._meta?.progressToken
    const client = clients.get(upstream)
    if (client === undefined) throw new Error(`no upstream ${upstream}`)
    const options = {
      onprogress: (progress: { progress: number }) =>
        void mcpReq.notify({
          method: 'notifications/progress',
          params: { ...progress, progressToken: token ?? 0 },
        }),
    }
    const call = { name, arguments: params.arguments ?? {} }
    return client.callTool(call, token === undefined ? {} : options)
  })
  return server
}

const transports = new Map<string, NodeStreamableHTTPServerTransport>()
const modern = toNodeHandler(createMcpHandler(newServer))

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const id = request.headers['mcp-session-id']
  const known = typeof id === 'string' ? transports.get(id) : undefined
  const transport =
    known ??
    new NodeStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: opened => void transports.set(opened, transport),
    })
  if (known === undefined) await newServer().connect(transport)
  await transport.handleRequest(request, response)
}

if (listener === 'stdio') await newServer().connect(new StdioServerTransport())
else {
  const serve = era === 'modern' ? modern : handle
  const http = createServer((request, response) => void serve(request, response))
  http.listen(0, '127.0.0.1', () => {
    console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`)
  })
}
process.on('disconnect', () => process.exit())
