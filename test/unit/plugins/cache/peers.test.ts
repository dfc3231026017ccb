import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { PeerCaches, type OutdatedAnswers } from '../../../../plugins/cache/cache-store.ts'
import { type SharedStore } from '../../../../src/plugin.ts'
import { SharedMemory } from '../../../fixtures/shared-memory.ts'
import { closeAfter, testClient, testUpstream, type TestGateway } from '../../../../src/testing/index.ts'
import { redisFor, skip, type Redis } from '../../../fixtures/redis.ts'
import { replica, until } from '../cluster/setting.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

const ALL = { params: { all: true } }

interface One {
  readonly others: PeerCaches
  readonly heard: OutdatedAnswers[]
  readonly store: SharedStore
}

async function passed(clock: HandClock, ms: number): Promise<void> {
  for (let step = 0; step < ms; step += 100) {
    clock.pass(100)
    for (let turn = 0; turn < 20; turn++) await Promise.resolve()
  }
}

async function pair(): Promise<{ clock: HandClock; memory: SharedMemory; one: One; two: One }> {
  const clock = new HandClock(1_000_000)
  const memory = new SharedMemory({ now: () => clock.now() })
  const [one, two] = [1, 2].map((): One => {
    const store = { ...memory.of() }
    const heard: OutdatedAnswers[] = []
    const others = new PeerCaches(store, clock, told => void heard.push(told))
    others.start()
    return { others, heard, store }
  })
  await passed(clock, 1000)
  return { clock, memory, one: one as One, two: two as One }
}

test('what is outdated at one is outdated at the other, and not told back', async () => {
  const { clock, one, two } = await pair()

  await one.others.broadcast({ params: { upstream: 'web' } })
  await two.others.broadcast({ purge: 'web__get_*' })
  await passed(clock, 30_000)

  assert.deepEqual(two.heard, [{ params: { upstream: 'web' } }])
  assert.deepEqual(one.heard, [{ purge: 'web__get_*' }])
})

test('one that missed something has everything outdated, once', async () => {
  const { clock, memory, one, two } = await pair()
  const { publish } = one.store
  one.store.publish = () => Promise.resolve()
  await one.others.broadcast({ params: { upstream: 'web' } })
  one.store.publish = publish
  await passed(clock, 12_000)
  assert.deepEqual(two.heard, [ALL])
  await passed(clock, 30_000)
  assert.equal(two.heard.length, 1)

  memory.clear()
  await passed(clock, 12_000)
  assert.deepEqual([one.heard, two.heard], [[ALL], [ALL, ALL]], 'as when the store has forgotten')
})

test('numbers that come in another order are nothing that was missed', async () => {
  const { clock, one, two } = await pair()
  const late: (() => Promise<void>)[] = []
  const { publish } = one.store
  one.store.publish = (topic, text) => {
    late.push(() => publish(topic, text))
    return Promise.resolve()
  }
  await one.others.broadcast({ params: { name: 'a' } })
  await one.others.broadcast({ params: { name: 'b' } })
  for (const say of late.reverse()) await say()
  await passed(clock, 30_000)

  assert.deepEqual(two.heard, [{ params: { name: 'b' } }, { params: { name: 'a' } }])
})

test('while the store is away it is said so, and everything is outdated later', async () => {
  const { clock, one, two } = await pair()
  const { addToCounter } = one.store
  one.store.addToCounter = () => Promise.reject(new Error('away'))
  await assert.rejects(one.others.broadcast({ params: { upstream: 'web' } }), /away/)
  await assert.rejects(one.others.broadcast({ params: { upstream: 'web' } }), /away/)
  await passed(clock, 3000)
  assert.deepEqual(two.heard, [])

  one.store.addToCounter = addToCounter
  await passed(clock, 3000)
  assert.deepEqual(two.heard, [ALL])
})

/** Two replicas that keep what a tool says, before one server that counts how often it is asked. */
async function caching(t: TestContext, redis: Redis): Promise<readonly [TestGateway, TestGateway, () => number]> {
  const web = closeAfter(t, await testUpstream({ tools: { look: () => 'seen', write: () => 'done' } }))
  const config = {
    upstreams: { web: { type: 'http', url: web.url } },
    cache: { tools: { web__look: '1h', web__write: { purges: ['web__look'] } } },
  }
  const asked = (): number => web.listCalls('tools/call').filter(({ params }) => params?.name === 'look').length
  return [await replica(t, redis, config), await replica(t, redis, config), asked]
}

test('a purge at one replica is one at the other, by its owner or by a tool', { skip }, async t => {
  const redis = await redisFor(t)
  const [one, two, asked] = await caching(t, redis)
  const [near, far] = [closeAfter(t, await testClient(one)), closeAfter(t, await testClient(two))]
  const look = (client: typeof near): Promise<unknown> =>
    client.request('tools/call', { name: 'web__look', arguments: {} })
  const kept = async ({ gateway }: TestGateway): Promise<number> =>
    Number((await gateway.control('cache.ls', { name: 'look' })).total)
  const both = async (): Promise<void> => {
    await look(near)
    await look(far)
    assert.deepEqual([await kept(one), await kept(two)], [1, 1])
  }
  await both()
  await both()
  assert.equal(asked(), 2)

  assert.deepEqual(await one.gateway.control('cache.purge', { name: 'look' }), { purged: 1, peers: 'notified' })
  await until(async () => (await kept(two)) === 0)
  await both()
  assert.equal(asked(), 4)
  await far.request('tools/call', { name: 'web__write', arguments: {} })
  await until(async () => (await kept(one)) === 0)
  assert.equal(await kept(two), 0)

  await both()
  await redis.stop()
  const said = await one.gateway.control('cache.purge', { all: true })
  assert.equal(said.peers, 'pending')
  assert.equal(await kept(one), 0)
  await redis.start()
  await until(async () => (await kept(two)) === 0)
})
