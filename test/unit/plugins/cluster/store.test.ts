import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { MemoryStore } from './store/memory-store.ts'
import { RedisStore } from '../../../../plugins/cluster/store/redis-store.ts'
import {
  ADOPT,
  FORGET,
  HOLD,
  LEASE,
  LEAVE,
  MOVE,
  READ,
  ROSTER,
  WRITE,
} from '../../../../plugins/cluster/store/scripts.ts'
import type { Store } from '../../../../plugins/cluster/store/store.ts'
import { systemClock } from '../../../../src/util/clock.ts'
import { createLog } from '../../../../src/util/log.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { redisFor, skip } from '../../../fixtures/redis.ts'

const clock = systemClock
const log = createLog({ level: 'error', format: 'json', write: () => undefined })
/** Time that Redis has for a command. */
const COMMAND_MS = 250

const MAKERS: Readonly<Record<string, (t: TestContext) => Promise<Store>>> = {
  memory: () => Promise.resolve(new MemoryStore(clock)),
  redis: async t => {
    const { url } = await redisFor(t)
    const store = await connected(url)
    cleanup(t, () => store.close())
    return store
  },
}

async function connected(url: string): Promise<RedisStore> {
  const store = await RedisStore.make({ redis: url, directory: '.', clock, log })
  await store.connect()
  return store
}

for (const [name, make] of Object.entries(MAKERS)) {
  const options = { skip: name === 'redis' ? skip : false }
  const ofReplica = (id: string): string[] => [`tg:{g}:replica:${id}`, 'tg:{g}:replicas']

  test(`${name}: a lease is new, then renewed, and nobody else's`, options, async t => {
    const store = await make(t)
    const lease = (before: string, value: string, ms = '5000') =>
      store.run(LEASE, ofReplica('a'), [before, value, ms, 'a'])

    assert.equal(await lease('', 'one'), 1)
    assert.equal(await lease('one', 'one'), 2)
    assert.equal(await lease('one', 'two'), 2)
    assert.equal(await lease('one', 'three'), 0)
    assert.equal(await store.get('tg:{g}:replica:a'), 'two')
    assert.deepEqual(await store.run(ROSTER, ['tg:{g}:replicas'], []), ['a'])
    assert.equal(await store.run(LEAVE, ofReplica('a'), ['three', 'a']), 0)
    assert.equal(await store.run(LEAVE, ofReplica('a'), ['two', 'a']), 1)
    assert.equal(await store.get('tg:{g}:replica:a'), undefined)
    assert.deepEqual(await store.run(ROSTER, ['tg:{g}:replicas'], []), [])
  })

  test(`${name}: a lease that has run out is new again`, options, async t => {
    const store = await make(t)

    await store.run(LEASE, ofReplica('a'), ['', 'one', '40', 'a'])
    await new Promise(resolve => setTimeout(resolve, 80))

    assert.equal(await store.get('tg:{g}:replica:a'), undefined)
    assert.equal(await store.run(LEASE, ofReplica('a'), ['one', 'one', '5000', 'a']), 1)
  })

  test(`${name}: of two that adopt a session one has it, and both are told whom`, options, async t => {
    const store = await make(t)
    const session = 'tg:{g}:s:x'
    await store.run(LEASE, ofReplica('a'), ['', 'lease', '5000', 'a'])
    await store.run(WRITE, [session], ['a', '1', 'record', '60000'])
    const adopt = (me: string, lease: string) =>
      store.run(ADOPT, [session, 'tg:{g}:replica:a'], ['a', '1', me, '60000', lease])

    assert.deepEqual(await adopt('b', ''), ['a', 1], 'its owner lives')
    const both = await Promise.all([adopt('b', 'lease'), adopt('c', 'lease')])
    assert.deepEqual(both[0], both[1])
    assert.deepEqual(both[0], ['b', 2])
    assert.deepEqual(await store.run(READ, [session], []), ['b', 2, 'record'])
    assert.equal(await store.get('tg:{g}:replica:a'), undefined, 'who lives after all sees it by its lease')
    assert.deepEqual(await store.run(WRITE, [session], ['a', '1', 'late', '60000']), ['b', 2])
    assert.deepEqual(
      await store.run(ADOPT, ['tg:{g}:s:none', 'tg:{g}:replica:a'], ['a', '1', 'b', '1', '']),
      [],
    )
  })

  test(`${name}: sessions of one that leaves are taken, and it stays in the directory`, options, async t => {
    const store = await make(t)
    const session = 'tg:{g}:s:x'
    await store.run(LEASE, ofReplica('a'), ['', 'leaving', '5000', 'a'])
    await store.run(WRITE, [session], ['a', '1', 'record', '60000'])
    const take = [session, 'tg:{g}:replica:a']

    const adopted = await store.run(ADOPT, take, ['a', '1', 'b', '60000', 'leaving', 'leaves'])

    assert.deepEqual(adopted, ['b', 2])
    assert.equal(await store.get('tg:{g}:replica:a'), 'leaving')
    assert.deepEqual(await store.run(ROSTER, ['tg:{g}:replicas'], []), ['a'])
  })

  test(`${name}: sessions are held, moved and forgotten by who has them`, options, async t => {
    const store = await make(t)
    const keys = ['1', '2', '3'].map(id => `tg:{g}:s:${id}`)
    await store.run(WRITE, keys.slice(0, 1), ['a', '1', 'record', '60000'])
    await store.run(WRITE, keys.slice(1, 2), ['b', '1', 'record', '60000'])

    assert.deepEqual(await store.run(HOLD, keys, ['a', '60000']), [1, 2, 0])
    assert.deepEqual(await store.run(MOVE, keys, ['a', 'c']), [1, 0, 0])
    assert.deepEqual(await store.run(READ, keys.slice(0, 1), []), ['c', 2, 'record'])
    assert.equal(await store.run(FORGET, keys.slice(0, 1), ['a']), 0)
    assert.equal(await store.run(FORGET, keys.slice(0, 1), ['c']), 1)
    assert.deepEqual(await store.run(READ, keys.slice(0, 1), []), [])
  })
}

test(
  'redis: while it is away every verb is refused soon, and works again when it is back, scripts and all',
  { skip },
  async t => {
    const redis = await redisFor(t)
    const store = await connected(redis.url)
    cleanup(t, () => store.close())
    assert.deepEqual(await store.run(ROSTER, ['tg:{g}:replicas'], []), [])

    await redis.stop()
    await assert.rejects(store.get('x'), { code: 'GW_CLUSTER_AWAY' })
    await assert.rejects(store.run(ROSTER, ['tg:{g}:replicas'], []), { code: 'GW_CLUSTER_AWAY' })
    assert.equal(store.isUp, false)

    await redis.start()
    const deadline = Date.now() + 20_000
    while (!store.isUp && Date.now() < deadline) await new Promise(resolve => setTimeout(resolve, 50))
    assert.deepEqual(await store.run(ROSTER, ['tg:{g}:replicas'], []), [])
  },
)

test('redis: one that does not answer is asked no more for a while', { skip }, async t => {
  const redis = await redisFor(t)
  const store = await connected(redis.url)
  cleanup(t, () => store.close())
  cleanup(t, () => redis.signal('SIGCONT'))
  await store.get('x')
  const { upSince = 0 } = store

  redis.signal('SIGSTOP')
  for (let asked = 0; asked < 3; asked++) await assert.rejects(store.get('x'), { code: 'GW_CLUSTER_AWAY' })
  await assert.rejects(store.get('x'), /too slow/)

  redis.signal('SIGCONT')
  const deadline = Date.now() + 20_000
  let answered = false
  while (!answered && Date.now() < deadline) {
    await new Promise(resolve => setTimeout(resolve, 50))
    answered = await store.get('x').then(
      () => true,
      () => false,
    )
  }
  assert.equal(answered, true)
  assert.ok(Number(store.upSince) > upSince, 'records may be missing since then')
})

test('redis: a process that was busy itself does not take it for slow', { skip }, async t => {
  const { url } = await redisFor(t)
  const store = await connected(url)
  cleanup(t, () => store.close())
  await store.run(LEASE, ['tg:{g}:replica:a', 'tg:{g}:replicas'], ['', 'one', '60000', 'a'])

  const asked = store.get('tg:{g}:replica:a')
  for (const end = performance.now() + 2 * COMMAND_MS; performance.now() < end;);

  assert.equal(await asked, 'one')
  assert.equal(store.isUp, true)
})
