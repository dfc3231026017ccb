import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testUpstream } from '../../../../../src/testing/index.ts'
import {
  call,
  clientOf,
  Common,
  configFor,
  type Counted,
  counted,
  given,
  HOUR,
  over,
  report,
  until,
} from './setting.ts'

const LISTS = { cache: { lists: '1h' } }

test('a list that a server says has changed is asked for by every replica that begins after that', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { look: () => 'seen' }, ttlMs: HOUR }))
  const config = configFor({ url: web.url } as Counted, LISTS)
  const common = new Common()
  const one = await over(t, common, config)
  const near = await clientOf(t, one)
  await near.request('tools/list', {})
  await given(one, 1)
  await web.listened()
  const kept = async (): Promise<number> =>
    Number((await one.gateway.control('cache.ls', { method: 'tools/list' })).total)
  assert.equal(await kept(), 1)
  web.notify('notifications/tools/list_changed')
  await until(async () => (await kept()) === 0)

  const two = await over(t, common, config)
  const before = web.received('tools/list').length
  await (await clientOf(t, two)).request('tools/list', {})
  assert.ok(web.received('tools/list').length > before)
  assert.equal((await report(two)).hits, 0)
})

test('after a server was away, what was kept before is asked for again, and an old answer stands in until it is back', async t => {
  const upstream = closeAfter(t, await testUpstream({ tools: { look: () => 'seen' } }))
  const config = configFor({ url: upstream.url } as Counted, {
    cache: { tools: { web__look: { ttl: '1m', staleIfError: '1h' } } },
  })
  const common = new Common()
  const one = await over(t, common, config)
  await call(await clientOf(t, one))
  await given(one, 1)
  const asked = (): number => upstream.received('tools/call').length

  const two = await over(t, common, config)
  const far = await clientOf(t, two)
  await far.request('tools/list', {})
  common.later = 2 * 60_000
  await upstream.stop()
  assert.equal(await call(far), 'seen', 'it has grown old, and is better than nothing')
  assert.equal((await report(two)).hits, 0)
  assert.equal(asked(), 1)
})

test('a connection after the first doubts what was kept before it', async t => {
  const web = await counted(t)
  const common = new Common()
  const one = await over(t, common, configFor(web))
  const two = await over(t, common, configFor(web))
  const [near, far] = [await clientOf(t, one), await clientOf(t, two)]
  await far.request('tools/list', {})
  await call(near, 'look', { id: 1 })
  await call(near, 'look', { id: 2 })
  await given(one, 2)
  assert.equal(await call(far, 'look', { id: 1 }), 'look 1')

  await two.gateway.control('upstream.restart', { upstream: 'web' })
  assert.equal(await call(far, 'look', { id: 2 }), 'look 3')
  const three = await over(t, common, configFor(web))
  assert.equal(await call(await clientOf(t, three), 'look', { id: 2 }), 'look 3', 'the newer one')
})

test('others are told of a purge only when nobody finds what it is about', async t => {
  const web = await counted(t)
  const common = new Common()
  const order: string[] = []
  const one = await over(t, common, configFor(web), store => ({
    ...store,
    put: async (key, value, options) => {
      const isVersion = key.includes('version')
      if (isVersion) await new Promise(resolve => setTimeout(resolve, 50))
      const isPut = await store.put(key, value, options)
      if (isVersion) order.push('version')
      return isPut
    },
    publish: (topic, text) => {
      order.push('told')
      return store.publish(topic, text)
    },
  }))
  await call(await clientOf(t, one))
  await given(one, 1)
  order.length = 0
  await one.gateway.control('cache.purge', { tag: 'things' })
  assert.deepEqual(order, ['version', 'told'], 'and of nothing that has no such tag')
})

test('the way of a call says that its answer is shared', async t => {
  const one = await over(t, new Common(), configFor(await counted(t)))
  await (await clientOf(t, one)).request('tools/list', {})
  const explanation = JSON.stringify(await one.gateway.control('explain', { tool: 'web__look' }))
  assert.match(explanation, /answers are kept for 1h[^;]*, and shared with the other replicas/)
})
