import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'

test('a restarted upstream is listened to again', async t => {
  const web = closeAfter(t, await testUpstream({ ttlMs: 60_000, tools: { a: () => 'a' } }))
  const { gateway, url } = closeAfter(t, await testGateway({ upstreams: { web } }))
  const client = closeAfter(t, await testClient(url))
  await client.request('tools/list')

  await gateway.upstreams.get('web')?.restart()
  await web.waitForCall('subscriptions/listen', call => web.listCalls('subscriptions/listen').indexOf(call) === 1)
  await client.request('tools/list')
  web.offer.tools.set('b', () => 'b')
  await client.listen()
  web.notify('notifications/tools/list_changed')
  await client.nextNotification('notifications/tools/list_changed')

  assert.equal(((await client.request('tools/list')).result?.tools as unknown[]).length, 2)
})
