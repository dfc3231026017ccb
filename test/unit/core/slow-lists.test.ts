import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { ClientConnection } from '../../../src/api/gateway.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, testUpstream, type TestUpstream } from '../../../src/testing/index.ts'
import { patientClock as clock } from '../../fixtures/clocks.ts'

/** Far above anything on loopback, far below the patience of a test. */
const WAIT_MS = 150
const STALE = 'io.tapgate/stale'

/** Two upstreams, the first of which can be told to hold its lists back. */
async function two(t: TestContext, spec: JsonObject = {}, config: JsonObject = {}) {
  const slow = closeAfter(t, await testUpstream({ tools: { one: () => 'one' } }))
  const quick = closeAfter(t, await testUpstream({ tools: { two: () => 'two' } }))
  const { gateway, log } = closeAfter(
    t,
    await testGateway({
      upstreams: { slow, quick },
      clock,
      config: {
        cache: false,
        lists: { grace: WAIT_MS, wait: WAIT_MS },
        upstreams: { slow: spec },
        ...config,
      },
    }),
  )
  const client = await gateway.connect()
  return { slow, quick, gateway, log, client }
}

/** Keeps its lists back until told otherwise. */
function holdLists(upstream: TestUpstream): (tools: readonly string[]) => void {
  let release = (_tools: JsonObject): void => undefined
  const held = new Promise<JsonObject>(resolve => (release = resolve))
  upstream.offer.methods.set('tools/list', () => held)
  return names => {
    upstream.offer.methods.delete('tools/list')
    release({ tools: names.map(name => ({ name, inputSchema: { type: 'object' } })) })
  }
}

async function listed(client: ClientConnection): Promise<readonly string[]> {
  const { tools } = await client.request('tools/list')
  return (tools as { name: string }[]).map(({ name }) => name)
}

/** Lists again whenever a change of the tools is announced, until so many are listed without a mark. */
async function whenListed(client: ClientConnection, count: number): Promise<void> {
  let changes = 0
  let wake = (): void => undefined
  let acknowledged = (): void => undefined
  const ready = new Promise<void>(resolve => (acknowledged = resolve))
  const onNotification = ({ method }: { readonly method: string }): void => {
    if (method !== 'notifications/tools/list_changed') return acknowledged()
    changes++
    wake()
  }
  void client
    .request('subscriptions/listen', { notifications: { toolsListChanged: true } }, { onNotification })
    .catch(() => undefined)
  await ready
  for (let seen = 0; ; seen = changes) {
    const { tools, _meta } = await client.request('tools/list')
    if ((tools as unknown[]).length === count && (_meta as JsonObject)[STALE] === undefined) return
    if (seen === changes) await new Promise<void>(resolve => (wake = resolve))
  }
}

test('a list that comes late is left out with a reason, and announced when it is there', async t => {
  const { slow, client, gateway, log } = await two(t)
  const release = holdLists(slow)

  assert.deepEqual(await listed(client), ['quick__two'])
  assert.match(gateway.upstreams.get('slow')?.status().lists?.tools ?? '', /^missing: tools\/list is too slow/)
  assert.ok(log.some(({ level, upstream }) => level === 'warn' && upstream === 'slow'))
  const there = whenListed(client, 2)
  release(['one'])
  await there

  assert.equal(gateway.upstreams.get('slow')?.status().lists, undefined)
})

test('a known list stands in for a late one, and says that it may be out of date', async t => {
  const { slow, client } = await two(t)
  assert.deepEqual(await listed(client), ['slow__one', 'quick__two'])
  const release = holdLists(slow)

  const { tools, _meta, ttlMs } = await client.request('tools/list')
  assert.equal((tools as unknown[]).length, 2)
  assert.deepEqual((_meta as JsonObject)[STALE], ['slow'])
  assert.equal(ttlMs, 0)
  slow.offer.tools.set('three', () => 'three')
  const there = whenListed(client, 3)
  release(['one', 'three'])
  await there
})

test('with onFailure: keep, what an upstream listed last stays while it is down', async t => {
  const { slow, client, gateway } = await two(t, { onFailure: 'keep' })
  await listed(client)
  await slow.stop()

  assert.deepEqual(await listed(client), ['slow__one', 'quick__two'])
  assert.match(gateway.upstreams.get('slow')?.status().lists?.tools ?? '', /^out of date: /)
  await assert.rejects(client.request('tools/call', { name: 'slow__one' }), /"slow"/)
})

test('a name of an upstream that is down is of the longest prefix', async t => {
  const upstream = (prefix: string): object => ({ type: 'http', url: 'http://127.0.0.1:1/mcp', prefix })
  const config = { upstreams: { short: upstream('a__'), long: upstream('a__b__') } } as never
  const client = closeAfter(t, await testClient(closeAfter(t, await testGateway({ config }))))

  const { error } = await client.request('tools/call', { name: 'a__b__c' })

  assert.match(error?.message ?? '', /"long"/)
})

test('a call waits for no lists but those of upstreams that may own the name', async t => {
  const { slow, quick, client } = await two(t, {}, { lists: { grace: '30s', wait: '30s' } })
  const release = holdLists(slow)

  const answer = await client.request('tools/call', { name: 'quick__two' })

  assert.deepEqual(answer.content, [{ type: 'text', text: 'two' }])
  assert.equal(quick.listCalls('tools/call').length, 1)
  release([])
})

test('a tool of an upstream that is too slow to list can be called, unless a filter hides it', async t => {
  const { slow, client } = await two(t, { tools: { deny: ['secret'] } })
  slow.offer.tools.set('secret', () => 'secret')
  const release = holdLists(slow)

  const answer = await client.request('tools/call', { name: 'slow__one' })
  assert.deepEqual(answer.content, [{ type: 'text', text: 'one' }])
  await assert.rejects(client.request('tools/call', { name: 'slow__secret' }), /Unknown tool/)

  assert.equal(slow.listCalls('tools/call').length, 1)
  release(['one'])
})

test('a name whose upstream cannot list any more still belongs to it: its call says what is wrong', async t => {
  for (const prefix of ['slow__', '']) {
    const { slow, client } = await two(t, { prefix })
    await client.request('tools/list')
    for (const method of ['tools/list', 'tools/call'])
      slow.offer.methods.set(method, () => ({ code: -32603, message: 'out of order' }))
    assert.deepEqual(await listed(client), ['quick__two'])

    await assert.rejects(client.request('tools/call', { name: `${prefix}one` }), /out of order/)
    await assert.rejects(client.request('tools/call', { name: 'quick__one' }), /Unknown tool/)
  }
})
