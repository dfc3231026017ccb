import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient, testUpstream } from '../../../../src/testing/index.ts'
import { redisFor, skip } from '../../../fixtures/redis.ts'
import { replica } from './setting.ts'

const TOOLS = 'notifications/tools/list_changed'

test('a change that a server tells one replica reaches the clients of another', { skip }, async t => {
  const redis = await redisFor(t)
  const [first, second] = [
    closeAfter(t, await testUpstream({ tools: { one: () => '1' } })),
    closeAfter(t, await testUpstream({ tools: { one: () => '1' } })),
  ]
  // The same server to its replicas: each reaches another instance of it.
  const [near, far] = await Promise.all(
    [first, second].map(web => replica(t, redis, { upstreams: { web: { type: 'http', url: web.url } } })),
  )
  const watcher = closeAfter(t, await testClient(far?.url ?? '', { era: 'legacy' }))
  await watcher.listen()
  await watcher.request('tools/list')
  const other = closeAfter(t, await testClient(near?.url ?? '', { era: 'legacy' }))
  await other.request('tools/list')
  await first.waitForListener()

  const told = watcher.nextNotification(TOOLS)
  for (const web of [first, second]) web.offer.tools.set('two', () => '2')
  first.notify(TOOLS)

  await told
  const { result } = await watcher.request('tools/list')
  assert.deepEqual(
    (result?.tools as { name: string }[]).map(({ name }) => name),
    ['web__one', 'web__two'],
  )
})
