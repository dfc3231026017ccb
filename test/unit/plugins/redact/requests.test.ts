import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { Call, JsonObject, Plugin } from '../../../../src/plugin.ts'
import { answer } from '../../../../src/plugin.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { begin, taskSetting, until } from '../../tasks/setting.ts'

const KEY = `ghp_${'a1B2'.repeat(9)}`
const MAIL = 'ann@example.com'
const REQUESTS = [
  {
    method: 'elicitation/create',
    params: { message: `Is it ${MAIL}?`, requestedSchema: { type: 'object', properties: {} } },
  },
  {
    method: 'sampling/createMessage',
    params: { messages: [{ role: 'user', content: { type: 'text', text: `${MAIL} ${KEY}` } }], maxTokens: 9 },
  },
]

/** A server whose tool asks its client for both, and answers with the replies. */
const asking: Plugin<never> = {
  name: 'asking',
  setup({ hooks }) {
    const ask = async ({ exchange }: Call): Promise<ReturnType<typeof answer>> => {
      const replies = []
      for (const request of REQUESTS) replies.push(await exchange.ask({ ...request }))
      return answer({ content: [], structuredContent: { replies } })
    }
    hooks.dispatch.tap(next => call => (call.method === 'tools/call' ? ask(call) : next(call)))
  },
}

async function scene(t: TestContext, action: string, name = 'crm__ask') {
  const crm = closeAfter(t, await testUpstream({ era: 'legacy', tools: { ask: () => '' } }))
  const redact = { rules: [{ for: [name], detect: ['email', 'secrets'], action }] }
  const path = join(await temporaryDirectory(t), 'mcp.sock')
  const main = { type: 'http', port: 0, sse: { path: '/sse', messages: '/messages' }, ws: { path: '/ws' } }
  const listeners = { main, pipe: { type: 'socket', path } }
  const config = { cache: false, redact, listeners } as never
  const gateway = closeAfter(t, await testGateway({ upstreams: { crm }, plugins: [asking], config }))
  return { url: gateway.url, path }
}

async function temporaryDirectory(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'redact-'))
  cleanup(t, () => rm(directory, { recursive: true, force: true }))
  return directory
}

async function legacyClient(t: TestContext, transport: Transport) {
  const seen: unknown[] = []
  const client = new Client({ name: 'c', version: '1' }, { capabilities: { elicitation: {}, sampling: {} } })
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    seen.push(params)
    return { action: 'decline' }
  })
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => {
    seen.push(params)
    return { role: 'assistant', model: 'm', content: { type: 'text', text: 'ok' } }
  })
  await client.connect(transport)
  cleanup(t, () => client.close())
  return { client, seen }
}

type Scene = Awaited<ReturnType<typeof scene>>

const TRANSPORTS: Readonly<Record<string, (scene: Scene) => Transport>> = {
  HTTP: ({ url }) => new StreamableHTTPClientTransport(new URL(url)),
  'HTTP+SSE': ({ url }) => new SSEClientTransport(new URL('/sse', url)),
  WebSocket: ({ url }) => new WebSocketClientTransport(new URL('/ws', url.replace('http', 'ws'))),
  'a pipe': ({ path }) => {
    const socket = connect(path)
    return new StdioServerTransport(socket, socket)
  },
}

for (const [name, open] of Object.entries(TRANSPORTS)) {
  test(`over ${name} a legacy client is asked without what a rule names`, async t => {
    const { client, seen } = await legacyClient(t, open(await scene(t, 'replace')))

    await client.callTool({ name: 'crm__ask', arguments: {} })

    assert.equal(seen.length, 2)
    assert.match(JSON.stringify(seen[0]), /Is it \[redacted:email\]/)
    assert.match(JSON.stringify(seen[1]), /\[redacted:email\] \[redacted:api-key\]/)
    assert.doesNotMatch(JSON.stringify(seen), /ann@|ghp_/)
  })

  test(`over ${name} a legacy client is not asked if a rule refuses, and the server gets an error`, async t => {
    const { client, seen } = await legacyClient(t, open(await scene(t, 'refuse')))

    const { structuredContent } = await client.callTool({ name: 'crm__ask', arguments: {} })

    assert.deepEqual(seen, [])
    const { replies } = structuredContent as { replies: { error?: { data?: JsonObject } }[] }
    assert.deepEqual(
      replies.map(({ error }) => error?.data?.code),
      ['GW_REDACT_RESULT', 'GW_REDACT_RESULT'],
    )
  })
}

test('what a modern server asks in its answer reaches a modern client without what a rule names', async t => {
  const ask = () => ({
    resultType: 'input_required',
    inputRequests: { question: REQUESTS[0] },
    requestState: MAIL,
  })
  const crm = closeAfter(t, await testUpstream({ era: 'modern', tools: { ask } }))
  for (const action of ['replace', 'refuse']) {
    const redact = { rules: [{ for: ['crm__ask'], detect: ['email'], action }] }
    const gateway = closeAfter(t, await testGateway({ upstreams: { crm }, config: { cache: false, redact } }))
    const capabilities = { elicitation: { form: {} } }
    const client = closeAfter(t, await testClient(gateway, { era: 'modern', capabilities }))

    const { result, error } = await client.request('tools/call', { name: 'crm__ask', arguments: {} })

    if (action === 'refuse') assert.equal(result?.isError, true)
    else assert.match(JSON.stringify(result?.inputRequests), /Is it \[redacted:email\]/)
    assert.doesNotMatch(JSON.stringify([result, error]), /ann@/)
  }
})

test('a modern client is asked without it, too', async t => {
  const gateway = await scene(t, 'mask')
  const capabilities = { elicitation: { form: {} }, sampling: {} }
  const client = closeAfter(t, await testClient(gateway, { era: 'modern', capabilities }))

  const { result } = await client.request('tools/call', { name: 'crm__ask', arguments: {} })

  assert.equal(result?.resultType, 'input_required')
  assert.match(JSON.stringify(result?.inputRequests), /a\*\*\*@example\.com/)
  assert.doesNotMatch(JSON.stringify(result), /ann@/)
})

for (const era of ['modern', 'legacy'] as const)
  test(`tasks of a ${era} client can be used, whatever a rule finds in numbers and ids`, async t => {
    const redact = {
      rules: [{ detect: ['digits', 'letters'] }],
      expressions: { digits: '[0-9]{5,}', letters: '[a-z_-]{9,}' },
    }
    const { modern, legacy } = await taskSetting(t, era, [], { redact })
    const client = era === 'modern' ? modern : await legacy()

    const taskId = await begin(client, 'slow_compute', { seconds: 0.05, label: 'secret-of-all' })
    const done = await until(client, taskId)
    const listed = era === 'legacy' ? (await client.request('tasks/list')).result?.tasks : [done]

    assert.equal(done.taskId, taskId)
    assert.equal((listed as JsonObject[])[0]?.taskId, taskId)
    assert.doesNotMatch(JSON.stringify([done, listed]), /secret-of-all/)
  })
