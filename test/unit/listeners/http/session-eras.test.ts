import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { createGateway } from '../../../../src/index.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { createLog } from '../../../../src/util/log.ts'
import { script } from '../../fixtures/upstream-bench.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

const LABEL = { 'X-Session-ID': 'mine' }

test('a client of both eras keeps what a server with isolation: session keeps for it', async t => {
  const { url } = await counting(t, {})
  const [one, two] = [await connected(t, url), await connected(t, url)]

  const counts = [await count(one), await count(one), await count(two), await count(one)]

  assert.deepEqual(counts, [1, 2, 1, 3])
})

test('eras: both serves modern requests as sessions of their own, and the log says so once', async t => {
  const { url, logged, inspected } = await counting(t, { eras: 'both' })
  const modern = await connected(t, url, { pin: '2026-07-28' })

  const counts = [await count(modern), await count(modern)]

  assert.deepEqual(counts, [1, 1])
  assert.equal(logged.filter(line => line.includes('modern client without session label')).length, 1)
  assert.match(String(inspected.listeners[0]?.eras), /^each modern request without a label is its own session/)
})

test('a profile without such a server offers both eras, and one may say otherwise', async t => {
  const { url, inspected } = await counting(t, {})

  const plain = await connected(t, `${url}/plain`, { pin: '2026-07-28' })
  assert.deepEqual((await plain.listTools()).tools, [])
  await assert.rejects(connected(t, `${url}/old`, { pin: '2026-07-28' }, LABEL), /version/i)

  assert.equal(
    inspected.listeners[0]?.eras,
    'legacy sessions only, except for requests with X-Session-ID (isolation: session of "keeper")',
  )
})

test('a probe is answered as by a server that knows no other era, so that every client falls back', async t => {
  const { url } = await counting(t, {})
  const version = '2026-07-28'
  const post = async (method: string, headers = {}): Promise<[number, unknown]> => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': version,
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const reply = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': version,
        'mcp-method': method,
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { _meta } }),
    })
    const { error } = (await reply.json()) as { error?: { code: number } }
    return [reply.status, error?.code]
  }

  assert.deepEqual(await post('server/discover'), [404, -32601])
  assert.deepEqual(await post('tools/list'), [400, -32022])
  assert.deepEqual(await post('server/discover', LABEL), [200, undefined])
})

/** A gateway in front of a server that counts its calls. */
async function counting(t: TestContext, listener: JsonObject) {
  const logged: string[] = []
  const log = createLog({ level: 'warn', format: 'json', write: line => logged.push(line) })
  const args = [script('keeping-server.mjs')]
  const gateway = await createGateway(
    {
      listeners: { main: { type: 'http', port: 0, ...listener } },
      upstreams: { keeper: { type: 'stdio', command: process.execPath, args, isolation: 'session' } },
      profiles: { plain: { upstreams: [] }, old: { upstreams: [], eras: 'legacy' } },
    },
    { log },
  )
  cleanup(t, () => gateway.close())
  await gateway.start()
  await gateway.settled()
  return { url: gateway.listeners[0]?.url ?? '', logged, inspected: await gateway.inspect() }
}

type Mode = 'auto' | { pin: string }

async function connected(t: TestContext, url: string, mode: Mode = 'auto', headers = {}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } })
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }))
  cleanup(t, () => client.close())
  return client
}

async function count(client: Client): Promise<number> {
  const { content } = await client.callTool({ name: 'keeper__count', arguments: {} })
  const [first] = content as { text: string }[]
  return Number(first?.text.split(' ')[1])
}
