import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createGateway, type ClientConnection, type Gateway } from '../../../src/index.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { TestClock } from '../../../src/testing/index.ts'
import { isAlive, script } from '../fixtures/upstream-bench.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { until } from '../../fixtures/until.ts'

const KEEPING = script('keeping-server.mjs')

test('a reload that changes only what plugins read keeps the process, under the new rules', async t => {
  const clock = new TestClock()
  const gateway = await running(t, { tools: { allow: ['count'] } }, {}, clock)
  const client = await gateway.connect()
  const [pid] = await count(client)
  assert.deepEqual(await names(client), ['it__count'])

  await gateway.reload(config({ tools: { allow: ['count', 'hold'] }, timeout: '10m', onFailure: 'fail' }))

  assert.deepEqual(await names(client), ['it__count', 'it__hold'])
  assert.deepEqual(await count(client), [pid, 2])
  const late = assert.rejects(client.request('tools/call', { name: 'it__hold', arguments: {} }), /no answer|600000 ms/)
  await until(() => gateway.upstreams.get('it')?.status().runtime?.inFlight === 1, 'it is under way')
  clock.advance(600_000)
  await late

  await gateway.reload(config({ prefix: '' }))

  assert.equal(((await names(client)) as string[]).includes('count'), true)
  const answer = await client.request('tools/call', { name: 'count', arguments: {} })
  assert.match(JSON.stringify(answer), new RegExp(`${pid} 3`))
})

test('a reload that changes how the process is run starts another one, and ends the old one', async t => {
  const gateway = await running(t, {})
  const client = await gateway.connect()
  const [pid] = await count(client)

  await gateway.reload(config({ env: { ANOTHER: 'one' }, timeout: '10s' }))

  const [next, calls] = await count(client)
  assert.notEqual(next, pid)
  assert.equal(calls, 1)
  await until(() => !isAlive(pid), 'the old one has ended')
})

test('a kept process ends with the generation that drops it, and with the gateway', async t => {
  const gateway = await running(t, {})
  const client = await gateway.connect()
  const [pid] = await count(client)
  await gateway.reload(config({ timeout: '9s' }))
  await gateway.reload({ upstreams: {} })
  await until(() => !isAlive(pid), 'it was dropped')

  await gateway.reload(config({}))
  await gateway.reload(config({ timeout: '9s' }))
  const [other] = await count(await gateway.connect())
  await gateway.close()
  assert.ok(!isAlive(other))
})

test('a lazy server starts with the first who needs it, and the gateway is ready without it', async t => {
  const gateway = await running(t, { start: 'lazy' }, { main: { type: 'http', port: 0 } })
  await gateway.settled()
  const readyz = new URL('/readyz', gateway.listeners[0]?.url)
  assert.equal((await fetch(readyz)).status, 200)
  const status = (): string | undefined => gateway.upstreams.get('it')?.status().state
  assert.equal(status(), 'idle')
  const client = await gateway.connect()
  assert.equal(status(), 'idle')

  const [pid] = await count(client)

  assert.equal(status(), 'ready')
  await gateway.reload(config({ start: 'auto', timeout: '9s' }))
  assert.deepEqual(await count(client), [pid, 2])
})

test('a start by hand tries what has failed at once', async t => {
  const gateway = await running(t, { command: '/no/such/program' })
  await gateway.settled()
  const handle = gateway.upstreams.get('it') ?? assert.fail()
  assert.equal(handle.status().state, 'failed')
  const restarts = handle.status().runtime?.restarts ?? 0

  await handle.start()

  assert.ok((handle.status().runtime?.restarts ?? 0) > restarts)
})

test('the bounds on processes hold over all servers, and a reload changes them', async t => {
  const upstreams = {
    one: upstreamOf({ start: 'eager', era: 'legacy' }),
    two: upstreamOf({ start: 'lazy', era: 'legacy' }),
  }
  const gateway = await createGateway({ processes: { max: 1 }, upstreams })
  cleanup(t, () => gateway.close())
  await gateway.start()
  await gateway.settled()
  const client = await gateway.connect()
  const call = (): Promise<unknown> => client.request('tools/call', { name: 'two__count', arguments: {} })

  await assert.rejects(call(), /process limit reached: 1/)

  await gateway.reload({ processes: { max: 2 }, upstreams })
  await gateway.upstreams.get('two')?.start()
  assert.match(JSON.stringify(await call()), / 1"/)
})

function upstreamOf(spec: JsonObject): JsonObject {
  return { type: 'stdio', command: process.execPath, args: [KEEPING], ...spec }
}

function config(spec: JsonObject): JsonObject {
  return { upstreams: { it: upstreamOf(spec) } }
}

async function running(
  t: TestContext,
  spec: JsonObject,
  listeners: JsonObject = {},
  clock = new TestClock(),
): Promise<Gateway> {
  const gateway = await createGateway({ ...config(spec), listeners }, { clock })
  cleanup(t, () => gateway.close())
  await gateway.start()
  return gateway
}

async function names(client: ClientConnection): Promise<unknown[]> {
  const { tools } = await client.request('tools/list')
  return (tools as JsonObject[]).map(({ name }) => name)
}

async function count(client: ClientConnection): Promise<[number, number]> {
  const { content } = await client.request('tools/call', { name: 'it__count', arguments: {} })
  const [pid = 0, calls = 0] = String((content as JsonObject[])[0]?.text)
    .split(' ')
    .map(Number)
  return [pid, calls]
}
