import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CreateMessageRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { closeAfter, testGateway, type TestGateway } from '../../src/testing/index.ts'
import { startChild, type Child } from '../peers/child.ts'
import { freePort } from '../fixtures/free-port.ts'

const EVERYTHING = join(
  dirname(createRequire(import.meta.url).resolve('@modelcontextprotocol/server-everything/package.json')),
  'dist/index.js',
)

let server: Child
let inner: TestGateway
let outer: TestGateway

before(async () => {
  const port = await freePort()
  server = startChild(EVERYTHING, ['sse'], { ...process.env, PORT: String(port) })
  await server.line(line => (line.includes('is running on port') ? true : undefined))
  const listeners = { main: { type: 'http', port: 0, sse: {}, ws: {} } }
  const url = `http://127.0.0.1:${port}/sse`
  inner = await testGateway({
    config: {
      listeners,
      upstreams: {
        old: { type: 'sse', url, prefix: '' },
        found: { type: 'http', url },
        local: { type: 'stdio', command: process.execPath, args: [EVERYTHING] },
      },
    },
  })
  outer = await testGateway({
    config: {
      listeners,
      upstreams: {
        sse: { type: 'sse', url: at(inner, '/sse') },
        ws: { type: 'ws', url: at(inner, '/ws').replace('http', 'ws') },
        http: { type: 'http', url: at(inner, '/sse') },
      },
    },
  })
})

after(async () => {
  await outer?.gateway.close()
  await inner?.gateway.close()
  await server?.stop()
})

const TRANSPORTS: Record<string, (gateway: TestGateway) => Transport> = {
  'HTTP+SSE': gateway => new SSEClientTransport(new URL(at(gateway, '/sse'))),
  WebSocket: gateway => new WebSocketClientTransport(new URL(at(gateway, '/ws').replace('http', 'ws'))),
}

test('every upstream is reached, in the newest era that its way allows', () => {
  const eras = [inner, outer].flatMap(({ gateway }) =>
    [...gateway.upstreams.values()].map(({ name, status }) => [name, status().state, status().era]),
  )

  assert.deepEqual(eras, [
    ['old', 'ready', 'legacy'],
    ['found', 'ready', 'legacy'],
    ['local', 'ready', 'legacy'],
    ['sse', 'ready', 'legacy'],
    ['ws', 'ready', 'modern'],
    ['http', 'ready', 'legacy'],
  ])
})

for (const [name, transport] of Object.entries(TRANSPORTS)) {
  describe(`an SDK v1 client over ${name}`, () => {
    test('lists and calls through one gateway', async t => {
      const client = closeAfter(t, await connect(transport(inner)))
      const { tools } = await client.listTools()

      assert.equal(tools.filter(tool => tool.name.endsWith('echo')).length, 3)
      for (const tool of ['echo', 'found__echo', 'local__echo'])
        assert.deepEqual(await client.echo(tool), [{ type: 'text', text: 'Echo: é\u2028\n' }])
    })

    test('lists and calls through two', async t => {
      const client = closeAfter(t, await connect(transport(outer)))

      for (const tool of ['sse__echo', 'ws__echo', 'http__local__echo'])
        assert.deepEqual(await client.echo(tool), [{ type: 'text', text: 'Echo: é\u2028\n' }])
    })

    test('is asked in the middle of a call', async t => {
      const client = closeAfter(t, await connect(transport(inner)))

      const result = await client.callTool({
        name: 'local__trigger-sampling-request',
        arguments: { prompt: 'hello', maxTokens: 5 },
      })

      assert.match(JSON.stringify(result.content), /sampled by the client/)
    })

    test('hears of progress', async t => {
      const client = closeAfter(t, await connect(transport(outer)))
      const heard: number[] = []

      await client.callTool(
        {
          name: 'http__trigger-long-running-operation',
          arguments: { duration: 0.1, steps: 2 },
        },
        undefined,
        { onprogress: ({ progress }) => void heard.push(progress) },
      )

      // This client misses what comes in one piece with the answer.
      assert.equal(heard[0], 1)
    })
  })
}

/** A client of SDK v1 that can be asked for a message. */
class Peer extends Client {
  constructor() {
    super({ name: 'peer', version: '1.0.0' }, { capabilities: { sampling: {} } })
    this.setRequestHandler(CreateMessageRequestSchema, () => ({
      role: 'assistant' as const,
      model: 'none',
      content: { type: 'text' as const, text: 'sampled by the client' },
    }))
  }

  async echo(name: string): Promise<unknown> {
    return (await this.callTool({ name, arguments: { message: 'é\u2028\n' } })).content
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

async function connect(transport: Transport): Promise<Peer> {
  const client = new Peer()
  await client.connect(transport)
  return client
}

function at({ url }: TestGateway, path: string): string {
  return new URL(path, url).href
}
