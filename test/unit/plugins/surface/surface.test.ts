import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { JsonObject, Plugin } from '../../../../src/plugin.ts'
import {
  closeAfter,
  testClient,
  type TestClient,
  testGateway,
  type TestTool,
  testUpstream,
} from '../../../../src/testing/index.ts'

const OURS = ['search_tools', 'describe_tools', 'call_read_tool', 'call_tool']

const TOOLS: Readonly<Record<string, TestTool>> = {
  get_issue: {
    description: 'Get one issue of a repository. More text.',
    inputSchema: { type: 'object', properties: { number: { type: 'integer' } }, required: ['number'] },
    annotations: { readOnlyHint: true },
    run: ({ number }) => `issue ${String(number)}`,
  },
  create_issue: {
    description: 'Create an issue.',
    inputSchema: {
      type: 'object',
      properties: { title: { type: 'string', description: 'What it is about' }, labels: { type: 'array' } },
      required: ['title'],
    },
    run: ({ title }) =>
      typeof title === 'string'
        ? `created ${title}`
        : { content: [{ type: 'text', text: 'title is required' }], isError: true },
  },
  send_mail: { description: 'Send a message to somebody.', run: (_, { params }) => JSON.stringify(params) },
}

async function serve(
  t: TestContext,
  config: JsonObject = { surface: { mode: 'search' } },
  tools = TOOLS,
  plugins: readonly Plugin<never>[] = [],
) {
  const web = closeAfter(t, await testUpstream({ tools }))
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, plugins, config }))
  const connect = async (era: 'legacy' | 'modern' = 'modern', name = 'agent', path = '') =>
    closeAfter(t, await testClient(gateway.url + path, { era, info: { name, version: '1' } }))
  return { web, gateway, connect }
}

async function listOf(client: TestClient): Promise<JsonObject[]> {
  const { result } = await client.request('tools/list')
  return result?.tools as JsonObject[]
}

async function namesOf(client: TestClient): Promise<unknown[]> {
  return (await listOf(client)).map(({ name }) => name)
}

async function textOf(client: TestClient, name: string, args: JsonObject): Promise<string> {
  const { result, error } = await client.request('tools/call', { name, arguments: args })
  const [content] = (result?.content ?? []) as { text: string }[]
  return content?.text ?? `error: ${String(error?.message)}`
}

for (const era of ['legacy', 'modern'] as const) {
  test(`a ${era} client in search mode sees four tools, finds others, and calls them`, async t => {
    const { web, connect } = await serve(t)
    const client = await connect(era)
    assert.deepEqual(await namesOf(client), OURS)

    const found = await textOf(client, 'search_tools', { query: 'open a new issue' })
    assert.match(found, /^web__create_issue\(title: string, labels\?: array\) – Create an issue\.$/m)
    assert.match(found, /^web__get_issue\(number: integer\) – Get one issue of a repository\. \[reads only\]$/m)
    assert.equal(
      await textOf(client, 'call_tool', { name: 'web__create_issue', arguments: { title: 'x' } }),
      'created x',
    )
    assert.equal(
      await textOf(client, 'call_read_tool', { name: 'web__get_issue', arguments: { number: 7 } }),
      'issue 7',
    )
    assert.equal(await textOf(client, 'web__get_issue', { number: 8 }), 'issue 8')
    assert.deepEqual(
      web.listCalls('tools/call').map(({ params }) => params?.name),
      ['create_issue', 'get_issue', 'get_issue'],
    )
  })
}

test('a search names what fits less well behind its results, and nothing twice', async t => {
  const tools = Object.fromEntries(
    ['note', 'page', 'letter', 'draft'].map(kind => [
      `write_${kind}`,
      { description: `Write a ${kind}.`, run: () => '' },
    ]),
  )
  const { connect } = await serve(t, { surface: { mode: 'search', results: 2 } }, tools)
  const client = await connect()
  const lines = (await textOf(client, 'search_tools', { query: 'write a letter' })).split('\n')
  assert.match(lines[0] ?? '', /^web__write_letter\(\)/)
  assert.match(lines[2] ?? '', /^Other matches: web__write_\w+, web__write_\w+\.$/)
  const names = lines.slice(0, 3).flatMap(line => line.match(/web__\w+/g) ?? [])
  assert.equal(new Set(names).size, 4)
  const all = await textOf(client, 'search_tools', { query: 'write a letter', limit: 20 })
  assert.doesNotMatch(all, /Others/)
})

test('a search for a server shows tools of no other, in whatever case it is named', async t => {
  const [mail, disk] = await Promise.all(
    ['letter', 'file'].map(async kind => closeAfter(t, await testUpstream({ tools: { [`write_${kind}`]: () => '' } }))),
  )
  const upstreams = { mail: { type: 'http', url: mail?.url }, disk: { type: 'http', url: disk?.url } }
  const gateway = closeAfter(t, await testGateway({ config: { surface: { mode: 'search' }, upstreams } }))
  const client = closeAfter(t, await testClient(gateway))
  const found = await textOf(client, 'search_tools', { query: 'write', server: 'Mail' })
  assert.match(found, /mail__write_letter/)
  assert.doesNotMatch(found, /disk__/)
})

test('rules, limits and whoever watches see the real tool, once', async t => {
  const seen: unknown[] = []
  const watch: Plugin<never> = {
    name: 'watch',
    setup({ hooks }) {
      hooks.request.tap({ methods: ['tools/call'], stage: 'trace' }, ({ params }) => void seen.push(params?.name))
      hooks.settled.tap(
        { methods: ['tools/call'] },
        ({ params, entry }) => void seen.push(params?.name, entry?.original),
      )
    },
  }
  const config = { surface: { mode: 'search' }, filters: { tools: { deny: ['web__send_*'] } } }
  const { connect } = await serve(t, config, TOOLS, [watch])
  const client = await connect()
  await textOf(client, 'call_tool', { name: 'web__get_issue', arguments: { number: 1 } })
  assert.deepEqual(seen, ['web__get_issue', 'web__get_issue', 'get_issue'])
  assert.doesNotMatch(await textOf(client, 'search_tools', { query: 'send mail message' }), /send_mail/)
  assert.match(await textOf(client, 'call_tool', { name: 'web__send_mail' }), /Unknown tool: web__send_mail/)
  assert.match(await textOf(client, 'describe_tools', { names: ['web__send_mail'] }), /Unknown tool/)
})

test('the way for reading refuses what does not say that it only reads', async t => {
  const { web, connect } = await serve(t)
  const client = await connect()
  const { result } = await client.request('tools/call', {
    name: 'call_read_tool',
    arguments: { name: 'web__create_issue', arguments: { title: 'x' } },
  })
  assert.equal(result?.isError, true)
  assert.match(JSON.stringify(result?.content), /call it with call_tool/)
  assert.equal(web.listCalls('tools/call').length, 0)
})

test('a call with wrong arguments is answered with the schema', async t => {
  const { connect } = await serve(t)
  const { result } = await (
    await connect()
  ).request('tools/call', { name: 'call_tool', arguments: { name: 'web__create_issue', arguments: {} } })
  const [said, schema] = (result?.content as { text: string }[]).map(({ text }) => text)
  assert.equal(said, 'title is required')
  assert.match(schema ?? '', /^Arguments of web__create_issue: .*"What it is about"/)
})

test('a call that makes no sense is answered by the gateway, in words', async t => {
  const { connect } = await serve(t)
  const client = await connect()
  const cases: [string, JsonObject, RegExp][] = [
    ['call_tool', {}, /"name" must be/],
    ['call_tool', { name: 'web__get_issue', arguments: 5 }, /"arguments" must be an object/],
    ['call_tool', { name: 'web__get_issue', arguments: '{' }, /"arguments" must be an object/],
    ['call_tool', { name: 'call_tool', arguments: { name: 'web__get_issue' } }, /directly/],
    ['call_tool', { name: 'web__get_isue' }, /Unknown tool: web__get_isue – similar: web__get_issue/],
    ['search_tools', {}, /"query" must/],
    ['search_tools', { query: 'issue', server: 'wep' }, /No server named "wep"/],
    ['search_tools', { query: 'qqqq zzzz' }, /No matching tool/],
    ['search_tools', { query: 'issue', limit: 'all' }, /"limit" must be/],
    ['describe_tools', { names: [] }, /"names" must be/],
    ['describe_tools', { names: Array(6).fill('web__get_issue') }, /at most 5 names/],
  ]
  for (const [name, args, expected] of cases) assert.match(await textOf(client, name, args), expected)
  assert.equal(await textOf(client, 'call_tool', { name: 'web__get_issue', arguments: '{"number":3}' }), 'issue 3')
})

test('mode auto is full while the list fits, and for clients that put off tools themselves', async t => {
  const many = Object.fromEntries(
    Array.from({ length: 60 }, (_, i) => [
      `tool_${i}`,
      { description: `Does thing ${i}. `.repeat(20), run: () => 'done' },
    ]),
  )
  const small = await serve(t, { surface: { mode: 'auto', budget: 4000 } })
  assert.deepEqual(await namesOf(await small.connect()), ['web__get_issue', 'web__create_issue', 'web__send_mail'])
  const config = {
    surface: { mode: 'auto', budget: 4000, pinned: ['web__tool_7'], clients: { 'odd*': 'compact' } },
  }
  const large = await serve(t, config, many)
  assert.deepEqual(await namesOf(await large.connect()), [...OURS, 'web__tool_7'])
  const deferring = await large.connect('legacy', 'claude-code')
  assert.equal((await namesOf(deferring)).length, 60)
  assert.match(await textOf(deferring, 'search_tools', { query: 'thing 7' }), /web__tool_7/)
  const compact = await listOf(await large.connect('modern', 'odd-one'))
  assert.equal(compact.length, 61)
  assert.equal(compact[1]?.description, 'Does thing 0.')
})

test('a real tool that has a name of ours keeps it, and ours get longer ones', async t => {
  const tools = { ...TOOLS, search_tools: { description: 'Hammers.', run: () => 'a hammer' } }
  const web = closeAfter(t, await testUpstream({ tools }))
  const upstreams = { web: { type: 'http', url: web.url, prefix: '' } }
  const gateway = closeAfter(t, await testGateway({ config: { surface: { mode: 'search' }, upstreams } }))
  const client = closeAfter(t, await testClient(gateway))
  assert.deepEqual(
    await namesOf(client),
    OURS.map(name => `gateway_${name}`),
  )
  assert.equal(await textOf(client, 'search_tools', {}), 'a hammer')
  assert.match(await textOf(client, 'gateway_search_tools', { query: 'hammers' }), /^search_tools\(/)
})

test('progress comes through, and a call that is cancelled is cancelled at its server', async t => {
  const tools: Readonly<Record<string, TestTool>> = {
    told: (_, { params, notify }) => {
      const { progressToken } = params._meta as JsonObject
      notify('notifications/progress', { progressToken, progress: 1 })
      return 'done'
    },
    slow: (_, { signal }) => new Promise(resolve => signal.addEventListener('abort', () => resolve('gone'))),
  }
  const { web, connect } = await serve(t, { surface: { mode: 'search' } }, tools)
  const client = await connect('legacy')
  const { notifications } = await client.request('tools/call', {
    name: 'call_tool',
    arguments: { name: 'web__told' },
    _meta: { progressToken: 5 },
  })
  assert.deepEqual(notifications[0]?.params, { progressToken: 5, progress: 1 })
  const running = client.start('tools/call', { name: 'call_tool', arguments: { name: 'web__slow' } })
  const call = await web.waitForCall('tools/call', ({ params }) => params?.name === 'slow')
  await running.cancel()
  while (!call.isCancelled) await new Promise(resolve => setTimeout(resolve, 5))
})

test('a tool that is found under a fitted name is called by it', async t => {
  const long = 'synchronize_all_customer_data_across_multiple_regional_systems_again'
  const tools = { [long]: { description: 'Bring customers into line.', run: () => 'done' } }
  const { web, connect } = await serve(t, { surface: { mode: 'search' } }, tools)
  const client = await connect('modern', 'cursor')
  const name = (await textOf(client, 'search_tools', { query: 'bring customers into line' })).split('(')[0] ?? ''
  assert.ok(name.length < 60 && name !== '', name)

  assert.equal(await textOf(client, 'call_tool', { name, arguments: {} }), 'done')
  assert.equal(await textOf(client, name, {}), 'done')
  assert.deepEqual(
    web.listCalls('tools/call').map(({ params }) => params?.name),
    [long, long],
  )
})
