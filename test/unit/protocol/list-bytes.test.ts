import assert from 'node:assert/strict'
import { test } from 'node:test'
import { View } from '../../../src/core/catalog/view.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'

test('a list is the same bytes whatever order its servers came in', async t => {
  const upstreams = {
    zoo: closeAfter(t, await testUpstream({ tools: { b: () => '', a: () => '' } })),
    ape: closeAfter(t, await testUpstream({ tools: { d: () => '', c: () => '' } })),
  }
  const lists: string[] = []
  for (const late of ['zoo', 'ape'] as const) {
    await upstreams[late].stop()
    const { gateway } = closeAfter(t, await testGateway({ upstreams }))
    const connection = await gateway.connect()
    await connection.request('tools/list')
    await upstreams[late].start()
    await gateway.upstreams.get(late)?.restart()
    lists.push((await connection.raw('tools/list')).bytes().toString())
  }

  assert.match(lists[0] ?? '', /zoo__b.*zoo__a.*ape__d.*ape__c/)
  assert.equal(lists[0], lists[1])
})

test('a kept list says how long it still holds, and is written anew no more often than that changes', () => {
  const view = new View({
    kind: 'tools',
    entries: [{ kind: 'tools', upstream: 'web', original: 'a', exposed: 'web__a', value: { name: 'a' } }],
    freshness: { ttlMs: now => Math.max(0, 60_000 - now), cacheScope: 'public' },
    pageSize: 10,
    serverInfo: {},
    stale: [],
    cursor: String,
    mirrors: () => [],
  })
  const ttlAt = (now: number): unknown => view.page(0, 'modern', now).value().ttlMs

  assert.deepEqual([0, 1, 30_500, 59_550, 60_000, 99_999].map(ttlAt), [60_000, 59_000, 29_000, 400, 0, 0])
  assert.equal(view.page(0, 'modern', 20_100), view.page(0, 'modern', 20_900))
  assert.equal(view.page(0, 'legacy', 20_100), view.page(0, 'legacy', 50_000))
  assert.equal(view.page(0, 'legacy', 0).value().ttlMs, undefined)
})

test('the time a list has left goes down for each who asks, not only for who asked first', async t => {
  const web = closeAfter(
    t,
    await testUpstream({ ttlMs: 60_000, cacheScope: 'public', tools: { a: () => '' } }),
  )
  const gateway = closeAfter(t, await testGateway({ upstreams: { web } }))
  const client = closeAfter(t, await testClient(gateway))
  const ttl = async (): Promise<number> => Number((await client.request('tools/list')).result?.ttlMs)

  const [first, second] = [await ttl(), await ttl()]

  assert.ok(first < 60_000 && first >= 55_000 && second <= first, `${first} then ${second}`)
  assert.equal(web.received('tools/list').length, 1)
})
