import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { JsonObject, Plugin } from '../../../src/plugin.ts'
import { closeAfter, testClient, type TestClient, testGateway, testUpstream } from '../../../src/testing/index.ts'

const SCHEMA = {
  type: 'object',
  properties: {
    owner: { type: 'string' },
    repo: { type: 'string', description: 'The repository' },
    body: { type: 'string' },
    debug: { type: 'boolean' },
    filter: { type: 'object', properties: { state: { type: 'string', description: 'State' } } },
  },
  required: ['owner', 'repo', 'body'],
}
const OVERRIDE = {
  title: 'Create an issue',
  annotations: { readOnlyHint: true },
  icons: [{ src: 'https://example.com/i.png' }],
  texts: { '/properties/filter/properties/state': 'Open or closed' },
  arguments: {
    owner: { value: 'acme' },
    repo: { default: 'tapgate', description: 'Which one' },
    body: { rename: 'text' },
    debug: { hide: true },
  },
}

interface Seen {
  readonly rules: unknown[]
  readonly settled: unknown[]
}

function watcher(seen: Seen): Plugin<never> {
  return {
    name: 'watcher',
    setup({ hooks }) {
      hooks.dispatch.tap(next => call => {
        if (call.method === 'tools/call') seen.rules.push(call.params?.arguments)
        return next(call)
      })
      hooks.settled.tap({ methods: ['tools/call'] }, ({ params }) => void seen.settled.push(params?.arguments))
    },
  }
}

async function serve(t: TestContext, tools: JsonObject, config: JsonObject = {}, inputSchema: JsonObject = SCHEMA) {
  const seen: Seen = { rules: [], settled: [] }
  const web = closeAfter(
    t,
    await testUpstream({
      tools: {
        create_issue: {
          inputSchema,
          annotations: { destructiveHint: false },
          run: (args: JsonObject) => JSON.stringify(args),
        },
        other: () => 'other',
      },
    }),
  )
  const upstreams = { web: { type: 'http', url: web.url, tools } }
  const gateway = closeAfter(t, await testGateway({ config: { upstreams, ...config }, plugins: [watcher(seen)] }))
  const connect = async (era: 'legacy' | 'modern' = 'modern', name = 'mcp-inspector') =>
    closeAfter(t, await testClient(gateway, { era, info: { name, version: '1' } }))
  return { web, gateway, connect, seen }
}

async function toolOf(client: TestClient, name = 'web__create_issue'): Promise<JsonObject> {
  const { result } = await client.request('tools/list')
  return (result?.tools as JsonObject[]).find(tool => tool.name === name) ?? {}
}

function call(client: TestClient, args: JsonObject) {
  return client.request('tools/call', { name: 'web__create_issue', arguments: args })
}

for (const era of ['legacy', 'modern'] as const)
  test(`a ${era} client sees a tool as its owner describes it, and the server gets its own arguments`, async t => {
    const { web, connect, seen } = await serve(t, { override: { 'create_*': OVERRIDE } })
    const client = await connect(era)
    const tool = await toolOf(client)
    assert.equal(tool.title, 'Create an issue')
    assert.deepEqual(tool.annotations, { destructiveHint: false, readOnlyHint: true })
    assert.deepEqual(tool.icons, OVERRIDE.icons)
    assert.deepEqual(tool.inputSchema, {
      type: 'object',
      properties: {
        repo: { type: 'string', description: 'Which one', default: 'tapgate' },
        text: { type: 'string' },
        filter: { type: 'object', properties: { state: { type: 'string', description: 'Open or closed' } } },
      },
      required: ['text'],
    })

    const { error } = await call(client, { text: 'hello' })
    assert.equal(error, undefined)
    const real = { body: 'hello', owner: 'acme', repo: 'tapgate' }
    assert.deepEqual(web.listCalls('tools/call')[0]?.params?.arguments, real)
    assert.deepEqual(seen, { rules: [real], settled: [real] })
    await call(client, { text: 'hello', repo: 'mine' })
    assert.deepEqual(web.listCalls('tools/call')[1]?.params?.arguments, { ...real, repo: 'mine' })
  })

test('what is fixed, hidden or renamed cannot be given, whether the list was read or not', async t => {
  const { web, connect } = await serve(t, { override: { create_issue: OVERRIDE } })
  const client = await connect()
  for (const args of [{ owner: 'evil' }, { debug: true }, { body: 'x' }, { text: 'a', body: 'b' }]) {
    const { error } = await call(client, { ...args })
    assert.equal(error?.code, -32602)
    assert.match(error.message, /Unknown argument "(owner|debug|body)" of tool web__create_issue/)
  }
  assert.deepEqual(web.listCalls('tools/call'), [])
  // Names of the language itself are names like others.
  await call(client, JSON.parse('{"__proto__":{"a":1},"constructor":"x","text":"y"}') as JsonObject)
  assert.match(
    JSON.stringify(web.listCalls('tools/call')[0]?.params?.arguments),
    /"__proto__":\{"a":1\},"constructor":"x"/,
  )
})

test('of several globs all count, later ones and those over all servers more', async t => {
  const { connect, web } = await serve(
    t,
    {
      rename: { create_issue: 'new' },
      override: {
        '*': { title: 'any', arguments: { owner: { value: 'a' } } },
        create_issue: { title: 'this' },
      },
    },
    {
      filters: {
        tools: { override: { 'web__n*': { arguments: { owner: { value: 'b' }, body: { default: '' } } } } },
      },
    },
  )
  const client = await connect()
  const tool = await toolOf(client, 'web__new')
  assert.equal(tool.title, 'this')
  await client.request('tools/call', { name: 'web__new', arguments: { repo: 'r' } })
  assert.deepEqual(web.listCalls('tools/call')[0]?.params?.arguments, { repo: 'r', owner: 'b', body: '' })
})

test('schemas of the one way or the other name the arguments that clients know', async t => {
  const either = {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'string' }, c: { type: 'string' } },
    anyOf: [{ required: ['a'] }, { required: ['b', 'c'] }],
  }
  const { connect } = await serve(
    t,
    { override: { '*': { arguments: { b: { rename: 'bee' }, c: { value: 'x' } } } } },
    {},
    either,
  )
  const { inputSchema } = await toolOf(await connect())
  assert.deepEqual(inputSchema, {
    type: 'object',
    properties: { a: { type: 'string' }, bee: { type: 'string' } },
    anyOf: [{ required: ['a'] }, { required: ['bee'] }],
  })
})

test('arguments that travel in headers do so under their new names, and when nobody gives them', async t => {
  const inputSchema = {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      tenant: { type: 'string', 'x-mcp-header': 'Tenant' },
    },
  }
  const { web, connect } = await serve(
    t,
    { override: { '*': { arguments: { region: { rename: 'place' }, tenant: { value: 'acme' } } } } },
    {},
    inputSchema,
  )
  const client = await connect()
  await toolOf(client)
  const { error } = await client.request(
    'tools/call',
    { name: 'web__create_issue', arguments: { place: 'eu' } },
    { headers: { 'mcp-param-region': 'eu' } },
  )
  assert.equal(error, undefined)
  const { headers, params } = web.listCalls('tools/call')[0] ?? {}
  assert.deepEqual(params?.arguments, { region: 'eu', tenant: 'acme' })
  assert.deepEqual([headers?.['mcp-param-region'], headers?.['mcp-param-tenant']], ['eu', 'acme'])
})

const SERVER = join(import.meta.dirname, '../fixtures/servers/raw-asking-server.mjs')
const ASK = Buffer.from('{"message":"?","requestedSchema":{"type":"object","properties":{}}}').toString('base64')

test('a call that is taken up again with what its server asked keeps its arguments', async t => {
  const tools = { override: { ask: { arguments: { ask: { rename: 'question' } } } } }
  const up = { type: 'stdio', command: process.execPath, args: [SERVER], tools }
  const gateway = closeAfter(t, await testGateway({ config: { upstreams: { up } } }))
  const client = closeAfter(t, await testClient(gateway, { capabilities: { elicitation: {} } }))
  const wanted = { name: 'up__ask', arguments: { question: ASK } }
  const { result } = await client.request('tools/call', wanted)
  assert.equal(result?.resultType, 'input_required')
  const { requestState, inputRequests } = result as { requestState: string; inputRequests: JsonObject }
  const accepted = { action: 'accept', content: {} }
  const inputResponses = Object.fromEntries(Object.keys(inputRequests).map(key => [key, accepted]))
  const again = await client.request('tools/call', { ...wanted, requestState, inputResponses })
  const [content] = again.result?.content as { text: string }[]
  assert.match(Buffer.from(content?.text ?? '', 'base64').toString(), /"action":"accept"/)
})

test('a number that would become another one is not passed on under another name', async t => {
  const { web, gateway } = await serve(t, {
    override: { '*': { arguments: { repo: { rename: 'id' }, owner: { default: 'o' } } } },
  })
  const ask = async (args: string): Promise<JsonObject> => {
    const meta =
      '"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"web__create_issue","arguments":${args},${meta}}}`
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'web__create_issue',
    }
    return (await (await fetch(gateway.url, { method: 'POST', body, headers })).json()) as JsonObject
  }
  const { error } = await ask('{"id":9007199254740993}')
  assert.match(JSON.stringify(error), /exactly/)
  const { result } = await ask('{"id":"x","n":9007199254740993}')
  assert.match(JSON.stringify(result), /9007199254740993|9007199254740992/)
  assert.equal(web.listCalls('tools/call').length, 1)
})

test('a surface finds and calls it by what clients see, and a fitted client does too', async t => {
  const { web, connect } = await serve(t, { override: { create_issue: OVERRIDE } }, { surface: { mode: 'search' } })
  const client = await connect('modern', 'cursor')
  const described = await client.request('tools/call', {
    name: 'describe_tools',
    arguments: { names: ['web__create_issue'] },
  })
  assert.match(JSON.stringify(described.result), /text/)
  assert.doesNotMatch(JSON.stringify(described.result), /owner/)
  // Its owner says that it only reads.
  const inner = { name: 'web__create_issue', arguments: { text: 'hi' } }
  const { result } = await client.request('tools/call', { name: 'call_read_tool', arguments: inner })
  assert.equal(result?.isError, undefined)
  assert.deepEqual(web.listCalls('tools/call')[0]?.params?.arguments, {
    body: 'hi',
    owner: 'acme',
    repo: 'tapgate',
  })
})

test('a failure that is not about arguments is not taken for one because they were renamed', async t => {
  const full = { content: [{ type: 'text', text: 'the disk is full' }], isError: true }
  const schema = { type: 'object', properties: { body: { type: 'string' } }, required: ['body'] }
  const web = closeAfter(t, await testUpstream({ tools: { write: { inputSchema: schema, run: () => full } } }))
  const tools = { override: { write: { arguments: { body: { rename: 'text' } } } } }
  const config = { surface: { mode: 'search' }, upstreams: { web: { type: 'http', url: web.url, tools } } }
  const gateway = closeAfter(t, await testGateway({ config }))
  const client = closeAfter(t, await testClient(gateway))
  const inner = { name: 'web__write', arguments: { text: 'hi' } }
  const { result } = await client.request('tools/call', { name: 'call_tool', arguments: inner })
  assert.deepEqual(result?.content, full.content)
})
