import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { UpstreamStatus } from '../../../../src/api/index.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import {
  type TestReply,
  type TestClient,
  type TestGateway,
  closeAfter,
  testClient,
  testGateway,
} from '../../../../src/testing/index.ts'
import { script } from '../../fixtures/upstream-bench.ts'
import { until } from '../../../fixtures/until.ts'

const BIG = 'x'.repeat(4 * 1024 * 1024 - 1024)

function local(file: string, spec: JsonObject = {}): JsonObject {
  return { type: 'stdio', command: process.execPath, args: [script(file)], era: 'legacy', ...spec }
}

async function served(t: TestContext, it: JsonObject, config: JsonObject = {}): Promise<TestGateway> {
  return closeAfter(t, await testGateway({ config: { ...config, upstreams: { it } } }))
}

async function legacyClient(t: TestContext, gateway: TestGateway): Promise<TestClient> {
  return closeAfter(t, await testClient(gateway, { era: 'legacy' }))
}

async function endSession({ url }: TestGateway, client: TestClient): Promise<void> {
  const session = client.initializeReply?.headers['mcp-session-id'] ?? assert.fail()
  const { status } = await fetch(url, { method: 'DELETE', headers: { 'mcp-session-id': session } })
  assert.ok(status < 300, String(status))
  await client[Symbol.asyncDispose]()
}

function isBusy({ error }: TestReply): boolean {
  const data = error?.data as JsonObject | undefined
  return data?.code === 'GW_UPSTREAM_BUSY' && typeof data.retryAfterMs === 'number'
}

function statusOf({ gateway }: TestGateway): UpstreamStatus {
  return gateway.upstreams.get('it')?.status() ?? assert.fail()
}

function breakerOf(gateway: TestGateway): JsonObject {
  return statusOf(gateway).breaker as JsonObject
}

test('twelve calls of 4 MiB at once to a shared local server succeed or are told it is busy, and others go on', async t => {
  const gateway = await served(t, local('slow-reader.mjs'))
  const [greedy, modest] = [await legacyClient(t, gateway), await legacyClient(t, gateway)]
  const take = (client: TestClient, text: string): Promise<TestReply> =>
    client.request('tools/call', { name: 'it__take', arguments: { text } })

  const large = Array.from({ length: 12 }, () => take(greedy, BIG))
  const small: TestReply[] = []
  for (let n = 0; n < 20; n++) small.push(await take(modest, 'small'))
  const ends = await Promise.all(large)

  const succeeded = ends.filter(({ result }) => result !== undefined)
  assert.deepEqual(
    ends.filter(end => end.result === undefined && !isBusy(end)),
    [],
  )
  assert.ok(succeeded.length >= 2, `${succeeded.length} succeeded`)
  assert.ok(small.every(({ result }) => result !== undefined))
  assert.deepEqual(breakerOf(gateway), { state: 'closed', failures: 0, opened: 0 })
})

test('sessions that come and go wait for the processes of those that have ended, and are never refused for them', async t => {
  const slow = local('keeping-server.mjs', { isolation: 'session' })
  slow.args = [...(slow.args as string[]), '--linger', '500']
  const gateway = await served(t, slow, { processes: { max: 5 } })

  for (let round = 0; round < 4; round++) {
    const clients = await Promise.all([1, 2, 3, 4].map(() => testClient(gateway, { era: 'legacy' })))
    const replies = await Promise.all(
      clients.map(client => client.request('tools/call', { name: 'it__count', arguments: {} })),
    )
    assert.deepEqual(
      replies.map(({ error }) => error),
      [undefined, undefined, undefined, undefined],
    )
    await Promise.all(clients.map(client => endSession(gateway, client)))
  }

  assert.deepEqual(breakerOf(gateway), { state: 'closed', failures: 0, opened: 0 })
})

test('who finds no room for a process is told that the server is busy, and its breaker stays closed', async t => {
  const gateway = await served(t, local('keeping-server.mjs', { isolation: 'session', breaker: { failures: 2 } }), {
    processes: { max: 2 },
  })
  const holder = await legacyClient(t, gateway)
  const held = holder.start('tools/call', { name: 'it__hold', arguments: {} })
  await until(() => statusOf(gateway).runtime?.inFlight === 1, 'its process is in use')

  for (let n = 0; n < 4; n++) {
    const { error } = await (await legacyClient(t, gateway)).request('tools/call', { name: 'it__count' })
    assert.deepEqual([(error?.data as JsonObject).code], ['GW_UPSTREAM_BUSY'], JSON.stringify(error))
  }

  assert.equal(breakerOf(gateway).state, 'closed')
  await holder.request('tools/call', { name: 'it__release', arguments: {} })
  await held.reply
})
