import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'

const CHANGED = 'notifications/tools/list_changed'

async function settled(): Promise<void> {
  await new Promise(resolve => setTimeout(resolve, 700))
}

test('a server that says that its list changed, and lists the same, is announced to nobody', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { one: () => 'x' } }))
  const gateway = closeAfter(t, await testGateway({ upstreams: { web } }))
  const client = closeAfter(t, await testClient(gateway, { era: 'legacy' }))
  await client.listen()
  await client.request('tools/list')

  for (let n = 0; n < 50; n++) web.notify(CHANGED)
  await settled()
  assert.deepEqual(client.notifications, [])
  assert.ok(web.listCalls('tools/list').length < 10)

  web.offer.tools.set('two', () => 'x')
  web.notify(CHANGED)
  await client.nextNotification(CHANGED)
})

test('a change of a server that a client may not see is not announced to it', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { one: () => 'x' } }))
  const hidden = closeAfter(t, await testUpstream({ tools: { secret: () => 'x' } }))
  const gateway = closeAfter(
    t,
    await testGateway({
      upstreams: { web, hidden },
      config: { filters: { tools: { deny: ['hidden__*'] } } },
    }),
  )
  const client = closeAfter(t, await testClient(gateway, { era: 'legacy' }))
  await client.listen()
  await client.request('tools/list')

  hidden.offer.tools.set('more', () => 'x')
  for (let n = 0; n < 20; n++) hidden.notify(CHANGED)
  await settled()

  assert.deepEqual(client.notifications, [])
})

test('a list that another client got before the news of a change does not hide it from who has the one of before', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { one: () => 'x' } }))
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, config: { cache: false } }))
  const [first, second] = await Promise.all(
    [1, 2].map(async () => closeAfter(t, await testClient(gateway, { era: 'legacy' }))),
  )
  await first?.listen()
  await first?.request('tools/list')

  web.offer.tools.set('two', () => 'x')
  await second?.request('tools/list')
  web.notify(CHANGED)

  await first?.nextNotification(CHANGED)
})
