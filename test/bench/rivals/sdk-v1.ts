/** The plainest gateway one writes with SDK v1: its clients behind its servers. See spec.ts for its arguments. */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { readSpec, split } from './spec.ts'

const INFO = { name: 'sdk-v1-gateway', version: '1.0.0' }
const { listener, upstreams } = readSpec(process.argv.slice(2))
const clients = new Map(
  await Promise.all(
    Object.entries(upstreams).map(async ([name, place]) => {
      const client = new Client(INFO)
      const transport =
        'url' in place ? new StreamableHTTPClientTransport(new URL(place.url)) : new StdioClientTransport(place)
      await client.connect(transport)
      return [name, client] as const
    }),
  ),
)

function newServer(): Server {
  const server = new Server(INFO, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, async () => {
    const lists = [...clients].map(async ([name, client]) => {
      const { tools } = await client.listTools()
      return tools.map(tool => ({ ...tool, name: `${name}__${tool.name}` }))
    })
    return { tools: (await Promise.all(lists)).flat() }
  })
  server.setRequestHandler(CallToolRequestSchema, async ({ params }, { sendNotification }) => {
    const [upstream, name] = split(params.name)
    const token = params._meta?.progressToken
    const client = clients.get(upstream)
    if (client === undefined) throw new Error(`no upstream ${upstream}`)
    const options = {
      onprogress: (progress: { progress: number }) =>
        void sendNotification({
          method: 'notifications/progress',
          params: { ...progress, progressToken: token ?? 0 },
        }),
    }
    return client.callTool({ name, arguments: params.arguments }, undefined, token === undefined ? {} : options)
  })
  return server
}

const transports = new Map<string, StreamableHTTPServerTransport>()

async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const id = request.headers['mcp-session-id']
  const known = typeof id === 'string' ? transports.get(id) : undefined
  const transport =
    known ??
    new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: opened => void transports.set(opened, transport),
    })
  if (known === undefined) await newServer().connect(transport)
  await transport.handleRequest(request, response)
}

if (listener === 'stdio') await newServer().connect(new StdioServerTransport())
else {
  const http = createServer((request, response) => void handle(request, response))
  http.listen(0, '127.0.0.1', () => {
    console.log(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`)
  })
}
process.on('disconnect', () => process.exit())
