import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { test, type TestContext } from 'node:test'
import { type JsonObject } from '../../../src/protocol/json/json.ts'
import {
  closeAfter,
  testClient,
  TestClock,
  testGateway,
  testUpstream,
  type TestUpstream,
} from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
/** Whoever waits out the grace of a first list does not end within a test. */
const LISTS = { grace: '10m', wait: 50 }
const GRACE_MS = 600_000

/** All that a slow server offers, and under which names a configuration shows it. */
const OFFER = {
  tools: { far: () => 'from afar' },
  resources: { 'far://one': 'text' },
  resourceTemplates: [{ uriTemplate: 'far://{id}', name: 'any' }],
  capabilities: { completions: {} },
  methods: { 'completion/complete': () => ({ completion: { values: ['yes'] } }) },
}
const RENAMED = {
  tools: { rename: { far: 'distant' } },
  resources: { rename: { 'far://one': 'far://renamed' } },
}

/** A way to a server that keeps all who come waiting until it opens. */
async function shutDoor(t: TestContext, { url }: TestUpstream): Promise<{ url: string; open: () => void }> {
  let open = (): void => undefined
  const opened = new Promise<void>(resolve => (open = resolve))
  const server = createServer(socket => {
    socket.on('error', () => socket.destroy()).pause()
    void opened.then(() => {
      const inner = connect(Number(new URL(url).port), '127.0.0.1')
      inner.on('error', () => socket.destroy())
      socket.pipe(inner).pipe(socket)
    })
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  cleanup(t, () => server.close())
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  return { url: `http://127.0.0.1:${address.port}/mcp`, open }
}

interface Late {
  readonly spec?: JsonObject
  readonly config?: JsonObject
  readonly clock?: TestClock
}

/** A gateway with a server that starts slowly, beside one that is there; `underWay` waits until the requests before it have begun. */
async function besideLate(t: TestContext, { spec = RENAMED, config = {}, clock }: Late = {}) {
  const quick = closeAfter(t, await testUpstream({ tools: { near: () => 'near' } }))
  const slow = closeAfter(t, await testUpstream(OFFER))
  const door = await shutDoor(t, slow)
  const upstreams = { slow: { type: 'http', url: door.url, startupTimeout: '1h', ...spec } }
  const gateway = closeAfter(
    t,
    await testGateway({
      settle: false,
      upstreams: { quick },
      config: { lists: LISTS, cache: false, ...config, upstreams },
      ...(clock === undefined ? {} : { clock }),
    }),
  )
  const client = closeAfter(t, await testClient(gateway))
  await client.request('tools/call', { name: 'quick__near', arguments: {} })
  /** A call that ends well was answered after those before it had begun. */
  const underWay = async (): Promise<void> => {
    const { error } = await client.request('tools/call', { name: 'quick__near', arguments: {} })
    assert.equal(error, undefined)
  }
  return { gateway, client, quick, slow, open: door.open, underWay }
}

const FIRST_REQUESTS: readonly (readonly [string, string, JsonObject, JsonObject])[] = [
  [
    'a renamed tool is called',
    'tools/call',
    { name: 'slow__distant', arguments: {} },
    { content: [{ type: 'text', text: 'from afar' }] },
  ],
  [
    'a renamed resource is read',
    'resources/read',
    { uri: 'far://renamed' },
    { contents: [{ uri: 'far://one', mimeType: 'text/plain', text: 'text' }] },
  ],
  [
    'an argument of a template is completed',
    'completion/complete',
    { ref: { type: 'ref/resource', uri: 'far://{id}' }, argument: { name: 'id', value: '' } },
    { completion: { values: ['yes'] } },
  ],
]

for (const [what, method, params, expected] of FIRST_REQUESTS)
  test(`${what} before its server, which starts slowly, was ever listed: it is waited for`, async t => {
    const { client, open, underWay } = await besideLate(t)

    const asked = client.request(method, params)
    await underWay()
    open()

    const { result, error } = await asked
    assert.equal(error, undefined)
    const { resultType: _type, _meta, ttlMs: _ttl, cacheScope: _scope, ...rest } = result ?? {}
    assert.deepEqual(rest, expected)
  })

test('a resource that a slow server lists is not read from the only other one that has resources', async t => {
  const quick = closeAfter(t, await testUpstream({ resources: { 'near://one': 'x' } }))
  const slow = closeAfter(t, await testUpstream(OFFER))
  const door = await shutDoor(t, slow)
  const upstreams = { slow: { type: 'http', url: door.url } }
  const gateway = closeAfter(
    t,
    await testGateway({ settle: false, upstreams: { quick }, config: { lists: LISTS, upstreams } }),
  )
  const client = closeAfter(t, await testClient(gateway))
  await client.request('resources/read', { uri: 'near://one' })

  const read = client.request('resources/read', { uri: 'far://one' })
  await client.request('resources/read', { uri: 'near://one' })
  door.open()

  assert.equal((await read).error, undefined)
  assert.deepEqual(
    quick.listCalls('resources/read').map(({ params }) => params?.uri),
    ['near://one', 'near://one'],
  )
})

test('a server that never starts keeps unknown names waiting for the grace of a first list, and only once', async t => {
  const clock = new TestClock()
  const { client, underWay } = await besideLate(t, { clock })
  const first = client.request('tools/call', { name: 'nobody', arguments: {} })
  await underWay()

  clock.advance(GRACE_MS)

  assert.equal((await first).error?.message, 'Unknown tool: nobody')
  const again = await client.request('tools/call', { name: 'nobody', arguments: {} })
  assert.equal(again.error?.message, 'Unknown tool: nobody')
})
