import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { toToolAnswer } from '../../../../plugins/fit/as-tools.ts'
import { answer, refuse, type JsonObject, type Plugin } from '../../../../src/plugin.ts'
import { closeAfter, testClient, type TestClient, testGateway, testUpstream } from '../../../../src/testing/index.ts'

const FIT = { resources: 'asTools', prompts: 'asTools' }
const OURS = ['list_resources', 'read_resource', 'list_prompts', 'get_prompt']

/** Notes what taps see, and refuses one resource as a rule does. */
function watcher(seen: string[]): Plugin<never> {
  return {
    name: 'watcher',
    setup({ hooks }) {
      hooks.request.tap({ stage: 'policy' }, ({ method, params }) => {
        if (method !== 'tools/list') seen.push(`${method} ${String(params?.uri ?? params?.name ?? '')}`.trim())
        return params?.uri === 'memo://secret' ? refuse(-31000, 'not for you') : undefined
      })
      hooks.settled.tap(({ method, answer }) => {
        const members = answer !== undefined && 'result' in answer ? Object.keys(answer.result.value()) : []
        if (method !== 'tools/list') seen.push(`settled ${method} ${members.join()}`)
      })
    },
  }
}

async function serve(t: TestContext, config: JsonObject = { fit: FIT }, tools: JsonObject = {}) {
  const seen: string[] = []
  const web = closeAfter(
    t,
    await testUpstream({
      tools: { short: () => 'short', ...tools },
      resources: {
        'memo://one': { description: 'The first memo.', text: 'one' },
        'memo://secret': 'secret',
      },
      prompts: {
        greet: {
          arguments: [{ name: 'who', required: true }],
          run: ({ who }: JsonObject) => `Greet ${String(who)}`,
        } as never,
      },
    }),
  )
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, config, plugins: [watcher(seen)] }))
  const connect = async (name: string, era: 'legacy' | 'modern' = 'modern', path = '') =>
    closeAfter(t, await testClient(gateway.url + path, { era, info: { name, version: '1' } }))
  return { web, gateway, connect, seen }
}

async function namesOf(client: TestClient): Promise<unknown[]> {
  const { result } = await client.request('tools/list')
  return (result?.tools as JsonObject[]).map(({ name }) => name)
}

function call(client: TestClient, name: string, args?: JsonObject) {
  return client.request('tools/call', { name, ...(args === undefined ? {} : { arguments: args }) })
}

async function textOf(client: TestClient, name: string, args?: JsonObject): Promise<string> {
  const { result, error } = await call(client, name, args)
  assert.equal(error, undefined)
  return (result?.content as { text: string }[]).map(({ text }) => text).join('\n')
}

for (const era of ['legacy', 'modern'] as const)
  test(`a ${era} client that shows neither resources nor prompts lists, reads and gets them by tools`, async t => {
    const { web, connect, seen } = await serve(t)
    const client = await connect('chatgpt', era)
    assert.deepEqual(await namesOf(client), ['web__short', ...OURS])
    seen.length = 0

    const list = JSON.parse(await textOf(client, 'list_resources')) as { resources: JsonObject[] }
    assert.deepEqual(list.resources[0], {
      uri: 'memo://one',
      name: 'memo://one',
      description: 'The first memo.',
    })
    assert.equal(await textOf(client, 'read_resource', { uri: 'memo://one' }), 'one')
    const prompts = JSON.parse(await textOf(client, 'list_prompts', { cursor: '' })) as {
      prompts: JsonObject[]
    }
    assert.deepEqual(prompts.prompts, [{ name: 'web__greet', arguments: [{ name: 'who', required: true }] }])
    assert.equal(await textOf(client, 'get_prompt', { name: 'web__greet', arguments: { who: 7 } }), 'Greet 7')

    // Whoever judges or records it knows the real request, and its real answer.
    assert.deepEqual(
      seen.filter(line => !line.startsWith('settled')),
      ['resources/list', 'resources/read memo://one', 'prompts/list', 'prompts/get web__greet'],
    )
    assert.ok(
      seen.some(line => /^settled resources\/read .*contents/.test(line)),
      seen.join('\n'),
    )
    assert.deepEqual(web.listCalls('tools/call'), [])
    const [got] = web.listCalls('prompts/get')
    assert.deepEqual([got?.params?.name, got?.params?.arguments], ['greet', { who: '7' }])
  })

test('pictures stay pictures, and of several contents each stands behind its URI', () => {
  const picture = { uri: 'memo://picture', mimeType: 'image/png', blob: 'iVBORw0KGgo=' }
  const file = { uri: 'memo://zip', mimeType: 'application/zip', blob: 'UEsDBA==' }
  const made = toToolAnswer('readResource', answer({ contents: [picture, file] }), false)
  assert.ok('result' in made)
  assert.deepEqual(made.result.value().content, [
    { type: 'text', text: 'memo://picture:' },
    { type: 'image', data: picture.blob, mimeType: 'image/png' },
    { type: 'text', text: 'memo://zip:' },
    { type: 'resource', resource: file },
  ])
})

test('a rule about a resource holds on this way, and mistakes are told to the model', async t => {
  const { web, connect } = await serve(t)
  const client = await connect('chatgpt')
  const { error } = await call(client, 'read_resource', { uri: 'memo://secret' })
  assert.equal(error?.code, -31000)
  assert.deepEqual(web.listCalls('resources/read'), [])

  for (const [name, args, why] of [
    ['read_resource', {}, /uri/],
    ['read_resource', { uri: 'memo://none' }, /not found/i],
    ['get_prompt', { name: 'nobody' }, /Unknown prompt/],
    ['list_resources', { cursor: 'made-up' }, /cursor/],
  ] as const) {
    const { result } = await call(client, name, args)
    assert.equal(result?.isError, true, `${name} ${JSON.stringify(args)}`)
    assert.match(JSON.stringify(result?.content), why)
  }
})

test('a client that shows them is given no tools for them, and cannot call any', async t => {
  const { connect } = await serve(t)
  const client = await connect('claude-code')
  assert.deepEqual(await namesOf(client), ['web__short'])
  assert.match(String((await call(client, 'read_resource', { uri: 'memo://one' })).error?.message), /Unknown tool/)
  // Codex is known to show no prompts.
  assert.deepEqual(await namesOf(await connect('codex-mcp-client')), ['web__short', 'list_prompts', 'get_prompt'])
})

test('nothing is added where the configuration does not say so; a profile has its own say, and so has a client', async t => {
  const plain = await serve(t, {})
  assert.deepEqual(await namesOf(await plain.connect('chatgpt')), ['web__short'])

  const { connect } = await serve(t, {
    fit: { resources: 'asTools', clients: { 'my-*': { resources: false } } },
    profiles: { other: { fit: { resources: 'no', prompts: 'asTools' } } },
  })
  assert.deepEqual(await namesOf(await connect('chatgpt')), ['web__short', 'list_resources', 'read_resource'])
  assert.deepEqual(await namesOf(await connect('my-agent')), ['web__short', 'list_resources', 'read_resource'])
  assert.deepEqual(await namesOf(await connect('chatgpt', 'modern', '/other')), [
    'web__short',
    'list_prompts',
    'get_prompt',
  ])
})

test('a real tool keeps its name, and ours stand behind a prefix', async t => {
  const { connect } = await serve(
    t,
    { fit: { resources: 'asTools' }, filters: { tools: { rename: { web__read: 'read_resource' } } } },
    { read: () => 'the real one' },
  )
  const client = await connect('chatgpt')
  assert.deepEqual(await namesOf(client), [
    'web__short',
    'read_resource',
    'gateway_list_resources',
    'gateway_read_resource',
  ])
  assert.equal(await textOf(client, 'read_resource', {}), 'the real one')
  assert.equal(await textOf(client, 'gateway_read_resource', { uri: 'memo://one' }), 'one')
})

test('a surface shows them beside its own tools, and calls them too', async t => {
  const { connect, seen } = await serve(t, { fit: FIT, surface: { mode: 'search', budget: 1000 } })
  const client = await connect('chatgpt')
  const names = await namesOf(client)
  assert.ok(names.includes('call_tool'))
  assert.equal(await textOf(client, 'read_resource', { uri: 'memo://one' }), 'one')
  seen.length = 0
  const through = { name: 'read_resource', arguments: { uri: 'memo://one' } }
  assert.equal(await textOf(client, 'call_tool', through), 'one')
  assert.equal(seen[0], 'resources/read memo://one')
})

test('over a pipe and over REST it is the same', async t => {
  const { gateway } = await serve(t, { fit: { ...FIT, clients: { rest: { like: 'chatgpt' } } }, rest: {} })
  const body = JSON.stringify({ name: 'read_resource', arguments: { uri: 'memo://one' } })
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(new URL('/tools/call', gateway.url), { method: 'POST', body, headers })
  assert.deepEqual(((await reply.json()) as JsonObject).content, [{ type: 'text', text: 'one' }])
  const transport = gateway.gateway.transport()
  const answers = new Map<unknown, (message: JsonObject) => void>()
  transport.onmessage = message => answers.get((message as JsonObject).id)?.(message)
  const ask = (id: number, method: string, params: JsonObject) =>
    new Promise<JsonObject>(resolve => {
      answers.set(id, resolve)
      void transport.send({ jsonrpc: '2.0', id, method, params } as never)
    })
  await transport.start()
  const clientInfo = { name: 'chatgpt', version: '1' }
  await ask(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
  const { result } = await ask(2, 'tools/call', { name: 'read_resource', arguments: { uri: 'memo://one' } })
  assert.deepEqual((result as JsonObject).content, [{ type: 'text', text: 'one' }])
  await transport.close()
})
