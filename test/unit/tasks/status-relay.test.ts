import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { closeAfter, testClient, testGateway, type TestClient, type TestGateway } from '../../../src/testing/index.ts'
import { begin, until } from './setting.ts'
import { until as eventually } from '../../fixtures/until.ts'

const SERVER = fileURLToPath(new URL('../../fixtures/tasks/counting-server.mjs', import.meta.url))

/** A gateway with a process for each session, whose task ids are the same in each, and clients with sockets of their own. */
async function clients(
  t: TestContext,
  names: readonly string[],
): Promise<readonly [TestGateway['gateway'], TestClient[]]> {
  const t1 = { type: 'stdio', command: process.execPath, args: [SERVER], prefix: '', isolation: 'session' }
  const gateway = closeAfter(t, await testGateway({ config: { upstreams: { t: t1 } } }))
  const connected = async (name: string): Promise<TestClient> => {
    const info = { name, version: '1' }
    const client = closeAfter(t, await testClient(gateway, { era: 'legacy', info }))
    await client.listen()
    return client
  }
  return [gateway.gateway, await Promise.all(names.map(connected))]
}

function heard(client: TestClient): unknown[] {
  return client.notifications
    .filter(({ method }) => method === 'notifications/tasks/status')
    .map(({ params }) => [params?.taskId, params?.statusMessage])
}

test('two connections whose servers count alike: each client hears of its own task, under its own id', async t => {
  const [, [ada, bob]] = await clients(t, ['ada', 'bob'])
  assert.ok(ada !== undefined && bob !== undefined)

  const ofAda = await begin(ada, 'begin', { whom: 'ada' })
  const ofBob = await begin(bob, 'begin', { whom: 'bob' })
  await until(ada, ofAda, 'working')
  await until(bob, ofBob, 'working')
  await eventually(() => heard(ada).length === 1, 'ada hears')
  await eventually(() => heard(bob).length === 1, 'bob hears')

  assert.notEqual(ofAda, ofBob)
  assert.deepEqual(heard(ada), [[ofAda, 'ada']])
  assert.deepEqual(heard(bob), [[ofBob, 'bob']])
})

test('what a server says of a task reaches no client that may no longer use the tool of it', async t => {
  const [gateway, [ada]] = await clients(t, ['ada'])
  assert.ok(ada !== undefined)
  const ofAda = await begin(ada, 'begin', { whom: 'ada' })
  await until(ada, ofAda, 'working')
  await eventually(() => heard(ada).length === 1, 'ada hears')
  const gossip = (whom: string): Promise<unknown> => ada.request('tools/call', { name: 'gossip', arguments: { whom } })
  const { config } = gateway.generation.loaded

  await gateway.reload({ ...config, filters: { tools: { deny: ['begin'] } } })
  await gossip('ada in secret')
  await gateway.reload({ ...config })
  await gossip('ada once more')
  await eventually(() => heard(ada).length > 1, 'ada hears again')

  assert.deepEqual(heard(ada), [
    [ofAda, 'ada'],
    [ofAda, 'ada once more'],
  ])
})
