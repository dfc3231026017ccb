import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'

const UPDATED = 'notifications/resources/updated'

for (const era of ['legacy', 'modern'] as const)
  test(`an update of what a legacy client over HTTP subscribed to at a ${era} server comes on its GET stream`, async t => {
    const upstream = closeAfter(
      t,
      await testUpstream({
        era,
        resources: { 'a:b': 'text' },
        capabilities: { resources: { subscribe: true, listChanged: true } },
        methods: { 'resources/subscribe': () => ({}), 'resources/unsubscribe': () => ({}) },
      }),
    )
    const gateway = closeAfter(t, await testGateway({ upstreams: { a: upstream } }))
    const watcher = closeAfter(t, await testClient(gateway, { era: 'legacy' }))
    await watcher.listen()
    await upstream.waitForListener()

    const subscribed = await watcher.request('resources/subscribe', { uri: 'a:b' })
    const told = watcher.nextNotification(UPDATED)
    upstream.notify(UPDATED, { uri: 'a:b' })

    assert.deepEqual(subscribed.result, {})
    assert.deepEqual((await told).params, { uri: 'a:b' })
  })

test('of a server that says hundreds of times that a resource changed, a client hears the first and the last, and few between', async t => {
  const upstream = closeAfter(
    t,
    await testUpstream({
      era: 'legacy',
      resources: { 'a:b': 'text' },
      capabilities: { resources: { subscribe: true } },
      methods: { 'resources/subscribe': () => ({}) },
    }),
  )
  const gateway = closeAfter(t, await testGateway({ upstreams: { a: upstream } }))
  const watcher = closeAfter(t, await testClient(gateway, { era: 'legacy' }))
  await watcher.listen()
  await upstream.waitForListener()
  await watcher.request('resources/subscribe', { uri: 'a:b' })
  const begun = performance.now()

  for (let n = 1; n <= 500; n++) upstream.notify(UPDATED, { uri: 'a:b', n })
  const heard = [(await watcher.nextNotification(UPDATED)).params?.['n']]
  while (heard.at(-1) !== 500) heard.push((await watcher.nextNotification(UPDATED)).params?.['n'])

  const most = 2 + (performance.now() - begun) / 100
  assert.equal(heard[0], 1)
  assert.ok(heard.length <= most, `${heard.length} of 500`)
})

test('that the roots of a legacy client over HTTP changed is taken, and not told to a server that others may share', async t => {
  const upstream = closeAfter(t, await testUpstream({ era: 'legacy', tools: { a: () => ({ content: [] }) } }))
  const gateway = closeAfter(t, await testGateway({ upstreams: { a: upstream } }))
  const client = closeAfter(
    t,
    await testClient(gateway, { era: 'legacy', capabilities: { roots: { listChanged: true } } }),
  )

  const status = await client.notify('notifications/roots/list_changed')
  await client.request('tools/call', { name: 'a__a' })

  assert.equal(status, 202)
  assert.equal(upstream.listCalls('notifications/roots/list_changed').length, 0)
  const told = upstream.listCalls('initialize').map(({ params }) => params?.capabilities as { roots?: unknown })
  assert.deepEqual(told.at(-1)?.roots, { listChanged: true })
})
