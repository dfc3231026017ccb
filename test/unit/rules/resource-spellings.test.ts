import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, testUpstream, type TestUpstream } from '../../../src/testing/index.ts'
import { hashOf } from './keys.ts'
import { leniently, lenientFiles, SPELLINGS } from './spellings.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const SECRET = 'file:///secret/**'
/** One kind of rule each that keeps everybody from the secret. */
const RULES: Readonly<Record<string, JsonObject>> = {
  'a filter for all': { filters: { resources: { deny: [SECRET] } } },
  'a filter for all that allows': { filters: { resources: { allow: ['file:///open/**'] } } },
  'a filter of one server': { upstreams: { files: { resources: { deny: [SECRET] } } } },
  'a filter in a spelling of its own': { filters: { resources: { deny: ['FILE://localhost/%73ecret/*'] } } },
  'a profile': { profiles: { default: { resources: { deny: [SECRET] } } } },
  'a profile that allows': { profiles: { default: { resources: { allow: ['file:///open/**'] } } } },
  'a route': { routes: [{ match: { resource: SECRET }, deny: 'no' }] },
  'a route after a filter': {
    filters: { resources: { deny: [SECRET] } },
    routes: [{ match: { method: 'resources/*' }, to: 'files' }],
  },
  'a rule for scopes': {
    auth: { keys: [{ name: 'ci', hash: hashOf('key') }], rules: [{ resources: [SECRET], scopes: ['top'] }] },
  },
  'a rule for principals': {
    auth: {
      keys: [{ name: 'ci', hash: hashOf('key') }],
      rules: [{ resources: [SECRET], principals: ['boss'] }],
    },
  },
}
const HEADERS = { authorization: 'Bearer key' }

async function world(
  t: TestContext,
  rules: JsonObject,
): Promise<{ url: string; files: TestUpstream; connect: () => ReturnType<typeof inProcess> }> {
  const files = closeAfter(t, await testUpstream(lenientFiles()))
  const listeners = { main: { type: 'http', port: 0, ws: { path: '/ws' } } }
  const gateway = closeAfter(
    t,
    await testGateway({ upstreams: { files }, config: { listeners, cache: false, ...rules } }),
  )
  return { url: gateway.url, files, connect: () => inProcess(gateway) }
}

async function inProcess({
  gateway,
}: Awaited<ReturnType<typeof testGateway>>): Promise<(method: string, params: JsonObject) => Promise<unknown>> {
  const connection = await gateway.connect()
  return (method, params) => connection.request(method, params).catch((error: unknown) => String(error))
}

/** Everything that a server was asked about the secret. */
function reached(files: TestUpstream): string[] {
  const uris = files.calls.map(({ params }) => params?.uri).filter(uri => typeof uri === 'string')
  return uris.filter(uri => leniently(uri) === '/secret/plan')
}

test('the corpus has at least sixty spellings of one resource, and a lenient server reads them', () => {
  assert.ok(SPELLINGS.length >= 60)
  const read = SPELLINGS.filter(uri => leniently(uri) === '/secret/plan')
  assert.ok(read.length >= 60, String(SPELLINGS.filter(uri => !read.includes(uri))))
})

for (const [name, rules] of Object.entries(RULES))
  test(`no spelling of a resource passes ${name}`, async t => {
    const { url, files } = await world(t, rules)
    const client = closeAfter(t, await testClient(url, { headers: HEADERS }))
    const read = async (uri: string): Promise<void> => {
      const { result } = await client.request('resources/read', { uri })
      assert.equal(JSON.stringify(result ?? '').includes('TOP'), false, uri)
    }
    await Promise.all(SPELLINGS.map(read))
    assert.deepEqual(reached(files), [])
    const open = await client.request('resources/read', { uri: 'FILE:/open/./%61' })
    assert.match(JSON.stringify(open.result), /nothing of note/)
  })

test('no spelling passes on a pipe, or in the process', async t => {
  const { url, files, connect } = await world(t, RULES['a filter for all'] ?? {})
  const socket = new WebSocket(url.replace('http', 'ws').replace('/mcp', '/ws'), 'mcp')
  cleanup(t, () => socket.close())
  await once(socket, 'open')
  const send = async (id: number, method: string, params: JsonObject): Promise<JsonObject> => {
    socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }))
    const [{ data }] = (await once(socket, 'message')) as [{ data: string }]
    return JSON.parse(data) as JsonObject
  }
  const clientInfo = { name: 'test', version: '1' }
  await send(0, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo })
  const ask = await connect()
  for (const [at, uri] of SPELLINGS.entries()) {
    const answer = await send(at + 1, 'resources/read', { uri })
    assert.equal(JSON.stringify([answer, await ask('resources/read', { uri })]).includes('TOP'), false, uri)
  }
  assert.deepEqual(reached(files), [])
})

test('no spelling can be subscribed to, completed, or read in a legacy session', async t => {
  const { url, files } = await world(t, RULES['a filter for all'] ?? {})
  const modern = closeAfter(t, await testClient(url, {}))
  const legacy = closeAfter(t, await testClient(url, { era: 'legacy' }))
  const refuse = async (uri: string): Promise<void> => {
    const params = { ref: { type: 'ref/resource', uri }, argument: { name: 'path', value: '' } }
    const answers = [
      await legacy.request('resources/read', { uri }),
      await legacy.request('resources/subscribe', { uri }),
      await modern.request('completion/complete', params),
    ]
    assert.ok(
      answers.every(({ error }) => error !== undefined),
      uri,
    )
  }
  await Promise.all(SPELLINGS.map(refuse))
  assert.deepEqual(files.listCalls('resources/subscribe'), [])
  assert.deepEqual(files.listCalls('completion/complete'), [])
})

test('what a server lists is read by the spelling that it lists, and by any other', async t => {
  const listed = [
    'FILE:/a b',
    'memo://Notes/%7ex',
    'x:y',
    'http://EXAMPLE.com:80/é',
    'repo://a/b%2Fc',
    'odd',
    'memo:a#b',
  ]
  const server = closeAfter(
    t,
    await testUpstream({ resources: Object.fromEntries(listed.map(uri => [uri, `text of ${uri}`])) }),
  )
  for (const config of [
    {},
    { filters: { resources: { deny: ['secret:*'] } } },
    { routes: [{ match: { resource: '**' }, to: 'server' }] },
  ]) {
    const gateway = closeAfter(t, await testGateway({ upstreams: { server }, config: { cache: false, ...config } }))
    const client = closeAfter(t, await testClient(gateway))
    const { result } = await client.request('resources/list')
    assert.deepEqual(
      (result?.resources as JsonObject[]).map(({ uri }) => uri),
      listed,
    )
    for (const uri of listed) {
      const read = await client.request('resources/read', { uri })
      assert.equal((read.result?.contents as JsonObject[])[0]?.text, `text of ${uri}`)
    }
    const read = await client.request('resources/read', { uri: 'http://example.com/%C3%A9' })
    assert.equal((read.result?.contents as JsonObject[])[0]?.text, 'text of http://EXAMPLE.com:80/é')
  }
})

test('without rules about resources, a URI without a canonical form goes on as it is', async t => {
  const { url, files } = await world(t, { filters: { tools: { deny: ['x'] } } })
  const client = closeAfter(t, await testClient(url, {}))
  await client.request('resources/read', { uri: 'file:///a%2fb' })
  assert.deepEqual(
    files.listCalls('resources/read').map(({ params }) => params?.uri),
    ['file:///a%2fb'],
  )
})

test('a server is asked by the canonical form, and all spellings are one in the cache', async t => {
  const files = closeAfter(t, await testUpstream({ ...lenientFiles(), era: 'legacy' }))
  const gateway = await testGateway({ upstreams: { files }, config: { cache: { resources: '1m' } } })
  const client = closeAfter(t, await testClient(closeAfter(t, gateway)))
  for (const uri of ['file:/x/%61', 'FILE:///x/./a', 'file://localhost/x//a'])
    await client.request('resources/read', { uri })
  assert.deepEqual(
    files.listCalls('resources/read').map(({ params }) => params?.uri),
    ['file:///x/a'],
  )
})

test('a server cannot take over a resource of another by a spelling of its own', async t => {
  const owner = closeAfter(t, await testUpstream({ resources: { 'file:///a': 'the real one' } }))
  const thief = closeAfter(t, await testUpstream({ resources: { 'FILE:///%61': 'a fake' } }))
  for (const uri of ['file:///a', 'FILE:///%61']) {
    const gateway = closeAfter(t, await testGateway({ upstreams: { owner, thief } }))
    const client = closeAfter(t, await testClient(gateway))
    const { result } = await client.request('resources/list')
    assert.equal((result?.resources as JsonObject[]).length, 1)
    const read = await client.request('resources/read', { uri })
    assert.match(JSON.stringify(read.result), /the real one/)
  }
})
