import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createGateway, type Gateway } from '../../../src/index.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testUpstream, type TestClient, type TestUpstream } from '../../../src/testing/index.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

const CHANGED = 'notifications/tools/list_changed'
const PROMPTS = 'notifications/prompts/list_changed'

async function served(t: TestContext, config: JsonObject): Promise<Gateway> {
  const gateway = await createGateway({ shutdown: { grace: 100 }, ...config })
  cleanup(t, () => gateway.close())
  await gateway.start()
  await gateway.settled()
  return gateway
}

function configOf(web: TestUpstream, more: JsonObject = {}, listener: JsonObject = {}): JsonObject {
  return {
    shutdown: { grace: 100 },
    listeners: { main: { type: 'http', port: 0, ...listener } },
    upstreams: { web: { type: 'http', url: web.url } },
    ...more,
  }
}

function urlOf(gateway: Gateway, name = 'main'): string {
  return gateway.listeners.find(listener => listener.name === name)?.url ?? ''
}

async function clientOf(t: TestContext, gateway: Gateway, era: 'legacy' | 'modern'): Promise<TestClient> {
  const client = closeAfter(t, await testClient(urlOf(gateway), { era }))
  for (const method of ['tools/list', 'prompts/list']) await client.request(method)
  await client.listen()
  // The start of an upstream changes lists too.
  await heardBy(client)
  client.notifications.length = 0
  return client
}

/** All that a client had heard when a request that was sent after the news has come back. */
async function heardBy(client: TestClient): Promise<string[]> {
  await new Promise(resolve => setTimeout(resolve, 50))
  await client.request('tools/list')
  return client.notifications.map(({ method }) => method ?? '').filter(method => method.endsWith('list_changed'))
}

for (const era of ['legacy', 'modern'] as const) {
  test(`a ${era} client is told nothing of a reload that changes none of its lists`, async t => {
    const web = closeAfter(t, await testUpstream({ tools: { a: () => 'a' }, prompts: { p: () => 'p' } }))
    const gateway = await served(t, configOf(web))
    const client = await clientOf(t, gateway, era)

    await gateway.reload(configOf(web, { lists: { pageSize: 5 } }))
    // Another process, the same lists.
    await gateway.reload(configOf(web, { upstreams: { web: { type: 'http', url: web.url, timeout: '5s' } } }))

    assert.deepEqual(await heardBy(client), [])
  })

  test(`a ${era} client is told of the list that is another one, and of no other`, async t => {
    const web = closeAfter(t, await testUpstream({ tools: { a: () => 'a', b: () => 'b' }, prompts: { p: () => 'p' } }))
    const gateway = await served(t, configOf(web))
    const client = await clientOf(t, gateway, era)

    await gateway.reload(configOf(web, { filters: { tools: { deny: ['*__b'] } } }))
    await client.nextNotification(CHANGED)

    assert.deepEqual(await heardBy(client), [])
    assert.equal(((await client.request('tools/list')).result?.tools as unknown[]).length, 1)
    assert.ok(!client.notifications.some(({ method }) => method === PROMPTS))
  })
}

test('a reload waits for no server that is as it was, though that hangs at its start', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { a: () => 'a' } }))
  const hung = { type: 'stdio', command: process.execPath, args: ['-e', 'setInterval(() => {}, 1e6)'] }
  const config = (more: JsonObject = {}): JsonObject =>
    configOf(web, {
      lists: { grace: '15s' },
      upstreams: { web: { type: 'http', url: web.url }, hung },
      ...more,
    })
  const gateway = await createGateway(config())
  cleanup(t, () => gateway.close())
  await gateway.start()
  const client = closeAfter(t, await testClient(urlOf(gateway), { era: 'legacy' }))
  void client.request('tools/list').catch(() => undefined)

  const started = performance.now()
  for (const pageSize of [5, 6, 7]) await gateway.reload(config({ lists: { grace: '15s', pageSize } }))

  assert.ok(performance.now() - started < 5000)
})

test('a listener whose settings change keeps its address and its sessions', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { a: () => 'a' } }))
  const gateway = await served(t, configOf(web))
  const url = urlOf(gateway)
  const client = closeAfter(t, await testClient(url, { era: 'legacy' }))

  await gateway.reload(configOf(web, {}, { limits: { body: '1KiB' }, allowedHosts: ['tools.example'] }))
  const { result } = await client.request('tools/call', { name: 'web__a' })
  const large = await client.request('tools/call', { name: 'web__a', arguments: { x: 'x'.repeat(2000) } })

  assert.equal(urlOf(gateway), url)
  assert.ok(result)
  assert.equal(large.status, 413)
})

test('a listener that moves listens before the old one ends, and what is under way there ends well', async t => {
  const release: { now?: () => void } = {}
  const slow = (): Promise<string> => new Promise(resolve => (release.now = () => resolve('slow')))
  const web = closeAfter(t, await testUpstream({ tools: { slow } }))
  const gateway = await served(t, configOf(web, { shutdown: { grace: '5s' } }))
  const port = await freePort()
  const client = closeAfter(t, await testClient(urlOf(gateway)))
  const running = client.request('tools/call', { name: 'web__slow' })
  await web.waitForCall('tools/call')

  await gateway.reload(configOf(web, { shutdown: { grace: '5s' } }, { port }))
  const other = closeAfter(t, await testClient(urlOf(gateway)))
  assert.ok((await other.request('tools/list')).result)
  release.now?.()

  assert.equal(Number(new URL(urlOf(gateway)).port), port)
  assert.ok((await running).result)
})

test('a configuration whose listener cannot be had changes nothing, not even for those who are connected', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { a: () => 'a' } }))
  const gateway = await served(t, configOf(web))
  const url = urlOf(gateway)
  const client = closeAfter(t, await testClient(url, { era: 'legacy' }))
  const taken = Number(new URL(web.url).port)
  const refused: string[] = []
  gateway.on('refused', ({ error }) => refused.push(error.code))

  const bad = { main: { type: 'http', port: 0, path: '/other' }, more: { type: 'http', port: taken } }
  await assert.rejects(gateway.reload(configOf(web, { listeners: bad, upstreams: {} })), {
    code: 'GW_LISTEN',
  })
  await assert.rejects(gateway.reload({ nonsense: true }), { code: 'GW_CONFIG_INVALID' })

  assert.ok((await client.request('tools/call', { name: 'web__a' })).result)
  assert.equal(urlOf(gateway), url)
  assert.deepEqual(refused, ['GW_LISTEN', 'GW_CONFIG_INVALID'])
})

test('a reload says what is different, as its result and to those who listen', async t => {
  const web = closeAfter(t, await testUpstream({}))
  const gateway = await served(
    t,
    configOf(web, { upstreams: { a: { type: 'http', url: web.url }, b: { type: 'http', url: web.url } } }),
  )
  const heard: unknown[] = []
  const leave = gateway.on('reloaded', ({ changes }) => heard.push(changes))

  const upstreams = { b: { type: 'http', url: web.url, timeout: '7s' }, c: { type: 'http', url: web.url } }
  const changes = await gateway.reload(configOf(web, { upstreams, lists: { pageSize: 3 } }))
  leave()
  await gateway.reload(configOf(web))

  assert.deepEqual(changes.upstreams, { added: ['c'], removed: ['a'], changed: ['b'], kept: [] })
  assert.deepEqual(changes.listeners.kept, ['main'])
  assert.deepEqual(changes.settings, ['lists'])
  assert.deepEqual(heard, [changes])
})

test('a reload waits for the generation before the last: there are never more than two', async t => {
  const release: { now?: () => void } = {}
  const slow = (): Promise<string> => new Promise(resolve => (release.now = () => resolve('slow')))
  const web = closeAfter(t, await testUpstream({ tools: { slow } }))
  const gateway = await served(t, configOf(web))
  const client = closeAfter(t, await testClient(urlOf(gateway)))
  const running = client.request('tools/call', { name: 'web__slow' })
  await web.waitForCall('tools/call')

  await gateway.reload(configOf(web, { lists: { pageSize: 2 } }))
  let isDone = false
  const third = gateway.reload(configOf(web, { lists: { pageSize: 3 } })).then(() => (isDone = true))
  await client.request('tools/list')
  await new Promise(resolve => setTimeout(resolve, 100))
  assert.equal(isDone, false)
  release.now?.()
  await third

  assert.ok((await running).result)
  assert.equal(gateway.generation.graph.config.lists.pageSize, 3)
})

test('a reload that waits for an old generation does not hold up the end', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { hang: () => new Promise<string>(() => undefined) } }))
  const gateway = await served(t, configOf(web))
  const client = closeAfter(t, await testClient(urlOf(gateway)))
  client.request('tools/call', { name: 'web__hang' }).catch(() => undefined)
  await web.waitForCall('tools/call')
  await gateway.reload(configOf(web, { lists: { pageSize: 2 } }))
  const refused: unknown[] = []
  gateway.on('refused', event => refused.push(event))

  const waiting = gateway.reload(configOf(web, { lists: { pageSize: 3 } }))
  const settled = Promise.allSettled([waiting])
  const begun = performance.now()
  await gateway.close()

  const [outcome] = await settled
  assert.equal(outcome.status, 'rejected')
  assert.ok(performance.now() - begun < 5000)
  assert.deepEqual(refused, [], 'a stop is no refusal')
})

test('what starts for a configuration that is refused is no news of those that run', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { a: () => 'a' } }))
  const gateway = await served(t, configOf(web))
  const client = await clientOf(t, gateway, 'legacy')
  const states: string[] = []
  gateway.on('state', ({ upstream, state }) => states.push(`${upstream} ${state}`))
  const taken = Number(new URL(web.url).port)

  const upstreams = { web: { type: 'http', url: web.url, timeout: '7s' } }
  const listeners = { main: { type: 'http', port: 0 }, more: { type: 'http', port: taken } }
  await assert.rejects(gateway.reload(configOf(web, { upstreams, listeners })), { code: 'GW_LISTEN' })

  assert.deepEqual(states, [])
  assert.deepEqual(await heardBy(client), [])
})

test('without a source, a reload takes what load gives, and says so where there is none', async t => {
  const web = closeAfter(t, await testUpstream({}))
  const load = (): Promise<JsonObject> => Promise.resolve(configOf(web, { lists: { pageSize: 9 } }))
  const gateway = await createGateway(configOf(web), { load })
  const without = await createGateway(configOf(web))
  cleanup(t, () => Promise.all([gateway.close(), without.close()]))

  assert.deepEqual((await gateway.reload()).settings, ['lists'])
  await assert.rejects(without.reload(), { code: 'GW_NO_SOURCE' })
})
