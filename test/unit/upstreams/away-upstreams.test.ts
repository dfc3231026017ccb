import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { ClientConnection } from '../../../src/api/gateway.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testGateway, testUpstream, type TestUpstream } from '../../../src/testing/index.ts'
import { until } from '../../fixtures/until.ts'
/** Long enough to tell waiting from not waiting, also on a machine with much else to do. */
const SOON_MS = 10_000
const BARE = { prefix: '' }
/** A local upstream beside a remote one, both with their own names. */
async function pair(t: TestContext, remote: TestUpstream | string, spec: JsonObject = {}) {
  const local = closeAfter(t, await testUpstream({ tools: { near: () => 'near' } }))
  const isUrl = typeof remote === 'string'
  const { gateway } = closeAfter(
    t,
    await testGateway({
      upstreams: isUrl ? { local } : { local, remote },
      settle: false,
      config: {
        lists: { grace: 100, wait: 100 },
        upstreams: {
          local: BARE,
          remote: { ...BARE, ...(isUrl ? { type: 'http', url: remote } : {}), ...spec },
        },
      },
    }),
  )
  const client = await gateway.connect()
  return { local, gateway, client }
}

function call(client: ClientConnection, name: string): Promise<JsonObject> {
  return client.request('tools/call', { name, arguments: {} })
}

async function listed(client: ClientConnection): Promise<readonly string[]> {
  const { tools } = await client.request('tools/list')
  return (tools as { name: string }[]).map(({ name }) => name)
}

async function answersSoon(client: ClientConnection): Promise<void> {
  const started = performance.now()
  assert.deepEqual((await call(client, 'near')).content, [{ type: 'text', text: 'near' }])
  assert.deepEqual(await listed(client), ['near'])
  assert.ok(performance.now() - started < SOON_MS, 'local tools must not wait for the remote')
}

test('a tool without prefix of an upstream that has gone is not unknown: the error says what is away', async t => {
  const remote = closeAfter(t, await testUpstream({ tools: { far: () => 'far', secret: () => 'secret' } }))
  const { client } = await pair(t, remote, { tools: { deny: ['secret'], rename: { far: 'distant' } } })
  await until(async () => (await listed(client)).includes('distant'), 'the remote is listed')
  await call(client, 'distant')
  await remote.stop()

  assert.deepEqual(await listed(client), ['near'])
  await assert.rejects(call(client, 'distant'), /upstream "remote" is not available/)
  await answersSoon(client)
  for (const hidden of ['secret', 'far', 'never'])
    await assert.rejects(call(client, hidden), { message: `Unknown tool: ${hidden}` })
})

test('a name that nobody could be asked for yet may be one of an upstream that is away', async t => {
  const gone = await testUpstream()
  await gone.stop()
  const { client } = await pair(t, gone.url, { tools: { allow: ['far'] } })
  await answersSoon(client)

  await assert.rejects(call(client, 'far'), /upstream "remote"/)
  await assert.rejects(call(client, 'other'), { message: 'Unknown tool: other' })
})

test('a remote that dies in the middle of a call fails that call, and no local one', async t => {
  const remote = closeAfter(t, await testUpstream({ tools: { far: () => new Promise<string>(() => undefined) } }))
  const { client } = await pair(t, remote)
  await until(async () => (await listed(client)).includes('far'), 'the remote is listed')
  const far = call(client, 'far')
  far.catch(() => undefined)
  await remote.waitForCall('tools/call')
  const near = call(client, 'near')
  await remote.stop()

  assert.deepEqual((await near).content, [{ type: 'text', text: 'near' }])
  await assert.rejects(far, /upstream "remote"/)
  await answersSoon(client)
})

test('an upstream that is tried again and again is announced to have gone once', async t => {
  const remote = closeAfter(t, await testUpstream({ tools: { far: () => 'far' } }))
  const { client, gateway } = await pair(t, remote)
  await until(async () => (await listed(client)).includes('far'), 'the remote is listed')
  let changes = 0
  const onNotification = ({ method }: { readonly method: string }): void => {
    if (method === 'notifications/tools/list_changed') changes++
  }
  const listening = client.request(
    'subscriptions/listen',
    { notifications: { toolsListChanged: true } },
    { onNotification },
  )
  listening.catch(() => undefined)
  let failures = 0
  let told = 0
  const failedAgain = new Promise<void>(resolve =>
    gateway.on('state', ({ upstream, state }) => {
      if (upstream !== 'remote' || state !== 'failed') return
      if (++failures === 2) told = changes
      if (failures === 3) resolve()
    }),
  )
  await remote.stop()
  await assert.rejects(call(client, 'far'))
  await failedAgain
  await answersSoon(client)

  assert.ok(told > 0)
  assert.equal(changes, told)
})
