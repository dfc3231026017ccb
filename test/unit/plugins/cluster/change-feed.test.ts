import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChangeFeed } from '../../../../plugins/cluster/change-feed.ts'
import { type Notification, type SharedStore } from '../../../../src/plugin.ts'
import { SharedMemory } from '../../../fixtures/shared-memory.ts'
import { closeAfter, testClient, testUpstream } from '../../../../src/testing/index.ts'
import { redisFor, skip } from '../../../fixtures/redis.ts'
import { replica } from './setting.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

const TOOLS = 'notifications/tools/list_changed'

interface Told {
  readonly news: ChangeFeed
  readonly said: string[]
  store: SharedStore
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}

/** Moves the clock on in small steps, so that what follows from one is there before the next. */
async function passed(clock: HandClock, ms: number): Promise<void> {
  for (let step = 0; step < ms; step += 50) {
    clock.pass(50)
    await settled()
  }
}

async function pair(): Promise<{ clock: HandClock; memory: SharedMemory; one: Told; other: Told }> {
  const clock = new HandClock(1_000_000)
  const memory = new SharedMemory({ now: () => clock.now() })
  const [one, other] = [1, 2].map((): Told => {
    const store = { ...memory.of() }
    const news = new ChangeFeed(store, clock)
    const said: string[] = []
    const says = (upstream: string, { method, params }: Notification): void => {
      said.push(
        [upstream, method.split('/').slice(-2).join('/'), ...(params === undefined ? [] : [params.uri])].join(' '),
      )
    }
    news.setHandler({ names: ['web', 'db'], notify: says })
    news.start()
    return { news, said, store }
  })
  await passed(clock, 11_000)
  return { clock, memory, one: one as Told, other: other as Told }
}

test('a change reaches the other replica once, and one of an unknown server reaches nobody', async () => {
  const { clock, one, other } = await pair()
  for (let times = 0; times < 3; times++) one.news.publish('web', { method: TOOLS, params: undefined })
  one.news.publish('elsewhere', { method: TOOLS, params: undefined })
  await one.store.publish('news', 'nonsense')
  await one.store.publish('news', one.store.seal('{"upstream":"web","method":"tools/call"}', 'news'))
  await passed(clock, 1000)

  assert.deepEqual([one.said, other.said], [[], ['web tools/list_changed']])
})

test('a missed change refreshes all lists, once', async () => {
  const { clock, one, other } = await pair()
  one.store.publish = () => Promise.resolve()

  one.news.publish('db', { method: TOOLS, params: undefined })
  await passed(clock, 1000)
  assert.deepEqual(other.said, [])
  await passed(clock, 30_000)

  assert.equal(other.said.length, 6)
})

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
