import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { definePlugin, type Plugin } from '../../../src/plugin.ts'
import {
  closeAfter,
  testClient,
  testGateway,
  type TestClient,
  type TestGateway,
  type TestGatewayOptions,
} from '../../../src/testing/index.ts'
import { byToken } from '../fixtures/by-token.ts'
import { CHANGED, changesHeard, listening } from '../fixtures/dynamic-tool.ts'
import { sessionTools, type SessionTools } from '../fixtures/session-tools.ts'

/** Longer than changes are gathered, and than comparisons of lists are apart. */
const TOLD_MS = 400

async function gatewayBefore(
  t: TestContext,
  { url }: SessionTools,
  also: Partial<TestGatewayOptions> = {},
  overrides: object = {},
): Promise<TestGateway> {
  const it = { type: 'http', url, prefix: '', isolation: 'session', era: 'legacy', ...overrides }
  return closeAfter(t, await testGateway({ config: { fit: false, upstreams: { it } }, ...also }))
}

async function namesOf(client: TestClient): Promise<string[]> {
  const { result, error } = await client.request('tools/list', {})
  assert.equal(error, undefined)
  return (result?.tools as { name: string }[]).map(({ name }) => name)
}

async function call(client: TestClient, name: string): Promise<string> {
  const { result, error } = await client.request('tools/call', { name, arguments: {} })
  assert.ok(result !== undefined, JSON.stringify(error))
  assert.notEqual(result.isError, true)
  return (result.content as { text: string }[])[0]?.text ?? ''
}

function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}

const authorized: Plugin<never> = definePlugin<undefined>({
  name: 'authorized',
  setup: ({ hooks }) =>
    hooks.authorize.tap(() => ({
      getAccount: ({ subject }) => subject,
      headers: () => ({ authorization: 'Bearer x' }),
      refused: () => Promise.resolve(undefined),
    })),
})

test('a session of one account is not shown what another session of that account did to its own lists', async t => {
  const server = await sessionTools(t)
  const gateway = await gatewayBefore(t, server, { plugins: [byToken, authorized] })
  const alice = { era: 'legacy', headers: { authorization: 'Bearer alice' } } as const
  const one = closeAfter(t, await testClient(gateway, alice))
  const other = closeAfter(t, await testClient(gateway, alice))
  const bob = closeAfter(t, await testClient(gateway, { ...alice, headers: { authorization: 'Bearer bob' } }))
  for (const client of [one, other, bob]) {
    assert.deepEqual(await namesOf(client), ['toggle', 'noise', 'last'])
    await call(client, 'last')
  }

  await call(one, 'toggle')

  assert.deepEqual(await namesOf(one), ['toggle', 'noise', 'extra', 'last'])
  assert.deepEqual(await namesOf(other), ['toggle', 'noise', 'last'])
  assert.deepEqual(await namesOf(bob), ['toggle', 'noise', 'last'])
  await call(one, 'extra')
  for (const client of [other, bob])
    assert.notEqual((await client.request('tools/call', { name: 'extra' })).error, undefined)
})

test('all pages of a list are of one connection, and a list that was asked for before is for all', async t => {
  const server = await sessionTools(t)
  const gateway = await gatewayBefore(t, server)
  const client = await listening(t, gateway)
  const other = await listening(t, gateway)
  await call(other, 'last')
  await call(client, 'toggle')
  await call(client, 'toggle')
  await gateway.gateway.control('cache.purge', { all: true }).catch(() => undefined)
  server.strays.length = 0
  const fresh = await listening(t, gateway)
  await call(fresh, 'noise')
  await call(fresh, 'toggle')
  assert.ok((await namesOf(fresh)).includes('extra'))
  assert.ok(!(await namesOf(other)).includes('extra'))
  const late = await listening(t, gateway)
  let toggled: Promise<string> | undefined
  server.beforeList = async () => {
    if (toggled === undefined) await (toggled = call(late, 'toggle'))
  }
  await call(other, 'noise')
  const listed = await Promise.all([namesOf(late), namesOf(other)])
  server.beforeList = undefined
  // The list that it was called before may be one that nobody of these waits for.
  await toggled

  assert.deepEqual(server.strays, [])
  assert.deepEqual(listed[1], ['toggle', 'noise', 'last'])
  assert.ok((await namesOf(late)).includes('extra'))
})

test('a modern client hears of each change in the process of its principal', async t => {
  const server = await sessionTools(t)
  const gateway = await gatewayBefore(t, server, {}, { isolation: 'principal' })
  const client = await listening(t, gateway, { era: 'modern' })
  assert.deepEqual(await namesOf(client), ['toggle', 'noise', 'last'])

  for (const isShown of [true, false, true, false]) {
    const heard = client.nextNotification(CHANGED)
    await call(client, 'toggle')
    await heard
    assert.equal((await namesOf(client)).includes('extra'), isShown)
  }
})

test('a client hears of a change of its own process that makes its list what the others have already', async t => {
  const server = await sessionTools(t)
  const gateway = await gatewayBefore(t, server, {}, { isolation: 'principal' })
  const client = await listening(t, gateway)
  const before = await namesOf(client)
  const heard = client.nextNotification(CHANGED)
  await call(client, 'toggle')
  await heard
  const again = client.nextNotification(CHANGED)
  await call(client, 'toggle')
  await again
  assert.deepEqual(await namesOf(client), before)
})

test('what the processes of many sessions say is told to nobody else, and their lists are not asked for again', async t => {
  const server = await sessionTools(t)
  const pool = { max: 128, perPrincipal: 128 }
  const gateway = await gatewayBefore(t, server, {}, { pool })
  const clients: TestClient[] = []
  for (let count = 0; count < 70; count++) clients.push(await listening(t, gateway))
  for (const client of clients) {
    await call(client, 'toggle')
    await namesOf(client)
  }
  await pause(TOLD_MS)
  const [noisy, ...others] = clients
  assert.ok(noisy !== undefined)
  const heard = others.map(changesHeard)
  const { lists } = server

  for (let round = 0; round < 3; round++) {
    await call(noisy, 'toggle')
    await pause(TOLD_MS)
  }

  assert.deepEqual(others.map(changesHeard), heard)
  assert.ok(server.lists - lists <= 12, `${server.lists - lists} lists were asked for`)
})

test('a client is told what a reload changes in the lists of its own process, and goes on to hear of these', async t => {
  const server = await sessionTools(t)
  const upstreams = (tools: object): object => ({
    it: { type: 'http', url: server.url, prefix: '', isolation: 'session', era: 'legacy', ...tools },
  })
  const gateway = closeAfter(t, await testGateway({ config: { fit: false, upstreams: upstreams({}) } }))
  const client = await listening(t, gateway)
  const other = await listening(t, gateway)
  await namesOf(other)
  await call(client, 'toggle')
  assert.ok((await namesOf(client)).includes('extra'))
  await pause(TOLD_MS)
  const before = changesHeard(other)
  const told = client.nextNotification(CHANGED)

  await gateway.gateway.reload({
    version: 1,
    fit: false,
    shutdown: { grace: 100 },
    listeners: { main: { type: 'http', port: 0 } },
    upstreams: upstreams({ tools: { override: { extra: { title: 'Another' } } } }),
  })

  await told
  assert.equal(changesHeard(other), before, 'it does not see the tool')
  const heard = client.nextNotification(CHANGED)
  await call(client, 'toggle')
  await heard
  assert.ok(!(await namesOf(client)).includes('extra'))
})
