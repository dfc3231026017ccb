import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Versions } from '../../../../../plugins/cache/shared/versions.ts'
import { SharedMemory, type SharedStore } from '../../../../../src/plugin.ts'
import { skip } from '../../../../fixtures/redis.ts'
import { replica } from '../../cluster/setting.ts'
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
  PLACES,
  report,
  until,
} from './setting.ts'
import { HandClock } from '../../../fixtures/hand-clock.ts'

/** What lies in a memory under the names of answers, as whoever can write to it sees it. */
function written(): { values: Map<string, string>; tapped: (store: SharedStore) => SharedStore } {
  const values = new Map<string, string>()
  return {
    values,
    tapped: store => ({
      ...store,
      look: async key => {
        const { value, now } = await store.look(key)
        return { value: key.includes('answer') ? (values.get(key) ?? value) : value, now }
      },
      put: (key, value, options) => {
        if (key.includes('answer')) values.set(key, value)
        return store.put(key, value, options)
      },
    }),
  }
}

/** Lists that are never fresh, and so never shared. */
const UNLISTED = { cache: { lists: 0 } }

async function firstOf(
  t: TestContext,
  common: Common,
  web: Counted,
  tapped: ReturnType<typeof written>['tapped'],
) {
  const one = await over(t, common, configFor(web, UNLISTED), tapped)
  return { one, near: await clientOf(t, one) }
}

test('an entry that was forged or is in the place of another is refused, and counted', async t => {
  const web = await counted(t)
  const common = new Common()
  const { values, tapped } = written()
  const { one, near } = await firstOf(t, common, web, tapped)
  await call(near, 'look', { id: 1 })
  await call(near, 'look', { id: 2 })
  await given(one, 2)
  const [first, second] = [...values.keys()] as [string, string]
  const [sealed, other] = [...values.values()] as [string, string]
  assert.equal(sealed.includes('look'), false, 'nobody reads it there')
  assert.equal(first.includes('look'), false, 'nor in its name')
  values.set(first, other)
  values.set(second, `${sealed.slice(0, -6)}AAAAAA`)

  const two = await over(t, common, configFor(web, UNLISTED), tapped)
  const far = await clientOf(t, two)
  assert.equal(await call(far, 'look', { id: 1 }), 'look 3')
  assert.equal(await call(far, 'look', { id: 2 }), 'look 4')
  assert.equal((await report(two)).refused, 2)
  for (const nonsense of ['', 'x', '{}', 'A'.repeat(200_000)]) {
    values.set(first, nonsense)
    const again = await clientOf(t, await over(t, common, configFor(web, UNLISTED), tapped))
    assert.match(await call(again, 'look', { id: 1 }), /^look \d+$/)
  }
})

test('an entry that ends on the way, or is put back after its end, is not used', async t => {
  const web = await counted(t)
  const common = new Common()
  const { values, tapped } = written()
  const { one, near } = await firstOf(t, common, web, tapped)
  await call(near)
  await given(one, 1)
  assert.equal(values.size, 1)

  // The store would have forgotten it; whoever can write to it keeps it for ever.
  common.later = HOUR + 1000
  const two = await over(t, common, configFor(web, UNLISTED), tapped)
  assert.equal(await call(await clientOf(t, two)), 'look 2')
  assert.equal((await report(two)).hits, 0)
})

test('what is left of its life is what is left by the clock of the store, whatever clocks of replicas say', async t => {
  const web = await counted(t)
  const common = new Common()
  const one = await over(t, common, configFor(web))
  await call(await clientOf(t, one))
  await given(one, 1)
  common.later = HOUR / 2
  const real = Date.now
  t.mock.method(Date, 'now', () => real() - 10 * 60_000)
  const two = await over(t, common, configFor(web))
  assert.equal(await call(await clientOf(t, two)), 'look 1')
  const { entries } = await two.gateway.control('cache.ls', { name: 'look' })
  const [entry] = entries as readonly { readonly ttlMs: number; readonly ageMs: number }[]
  assert.ok(Number(entry?.ageMs) >= HOUR / 2, 'its age comes with it')
  assert.ok(Number(entry?.ttlMs) <= HOUR / 2)

  // A store whose clock was set back cannot say how old it is.
  common.later = -HOUR
  const three = await over(t, common, configFor(web))
  assert.equal(await call(await clientOf(t, three)), 'look 2')
})

test('a store that comes back with an older version brings no outdated answer to life', async t => {
  const web = await counted(t)
  const common = new Common()
  const kept = new Map<string, string>()
  let isBack = false
  const tapped = (store: SharedStore): SharedStore => ({
    ...store,
    look: async key => {
      const { value, now } = await store.look(key)
      return { value: isBack ? (kept.get(key) ?? value) : value, now }
    },
    put: (key, value, options) => {
      // As a copy of the store that was made before the purge; what is written after it came back, is written.
      if (!isBack && !kept.has(key)) kept.set(key, value)
      if (isBack) kept.delete(key)
      return store.put(key, value, options)
    },
  })
  const { one, near } = await firstOf(t, common, web, tapped)
  await call(near)
  await given(one, 1)
  assert.equal((await one.gateway.control('cache.purge', { all: true })).others, 'told')
  assert.equal(await call(near, 'look', { id: 9 }), 'look 2')
  isBack = true

  assert.equal(await call(near), 'look 3', 'one that knew better')
  await until(async () => (await call(near, 'look', { id: Math.random() })) !== '' && kept.size < 12)
  const two = await over(t, common, configFor(web), tapped)
  assert.notEqual(await call(await clientOf(t, two)), 'look 1', 'one that learned of it')
})

test('a version that nobody of us wrote is replaced, and two who begin agree', async () => {
  const clock = new HandClock(1_000_000)
  const memory = new SharedMemory({ now: () => clock.now() })
  const store = memory.of({})
  const [one, two] = [new Versions(store, clock), new Versions(store, clock)]
  const both = await Promise.all([one.read('web tools/call'), two.read('web tools/call')])
  assert.equal(both[0], both[1])

  await store.put('version web tools/call', '999999.forged', { ms: HOUR })
  assert.equal(await one.read('web tools/call'), undefined)
  await one.flush()
  const next = await one.read('web tools/call')
  assert.notEqual(next, both[0])
  assert.equal(await two.read('web tools/call'), next)
})

test('while a version is owed nothing is read, and another one that is needed meanwhile is made', async () => {
  const clock = new HandClock(1_000_000)
  const store = { ...new SharedMemory({ now: () => clock.now() }).of({}) }
  const { put } = store
  const versions = new Versions(store, clock)
  const first = await versions.read('s')
  store.put = () => Promise.reject(new Error('away'))
  versions.outdate(['s'])
  await assert.rejects(versions.flush(), /away/)
  assert.equal(versions.isOwed('s'), true)
  assert.equal(await versions.read('s'), undefined)

  let puts = 0
  store.put = (...given) => {
    // Something makes it outdated once more while the store is told.
    if (puts++ === 0) versions.outdate(['s'])
    return put(...given)
  }
  clock.pass(1000)
  await versions.flush()
  assert.equal(puts, 2)
  assert.equal(versions.isOwed('s'), false)
  assert.notEqual(await versions.read('s'), first)
})

test('a purge that comes while the server is asked reaches what that answer would have become', async t => {
  const web = await counted(t)
  const common = new Common()
  const one = await over(t, common, configFor(web))
  const two = await over(t, common, configFor(web))
  const slow = call(await clientOf(t, one), 'slow')
  await until(() => web.asked('slow') === 1)
  // The others are told by their own topic, too; here by the version alone, as one that missed it.
  await two.gateway.control('cache.purge', { all: true })
  web.release()
  assert.equal(await slow, 'slow')

  const again = call(await clientOf(t, await over(t, common, configFor(web))), 'slow')
  await until(() => web.asked('slow') === 2)
  web.release()
  assert.equal(await again, 'slow')
})

test('a store that is late lets one after another wait for a moment, then nobody', async t => {
  const web = await counted(t)
  const common = new Common()
  let isLate = true
  let asked = 0
  const tapped = (store: SharedStore): SharedStore => ({
    ...store,
    look: async key => {
      asked++
      if (isLate) await new Promise<void>(() => undefined)
      return store.look(key)
    },
  })
  const config = configFor(web, { cache: { shared: { wait: '30ms' } } })
  const one = await over(t, common, config, tapped)
  const near = await clientOf(t, one)
  for (let id = 1; id <= 20; id++) assert.equal(await call(near, 'look', { id }), `look ${id}`)
  const said = await report(one)
  assert.equal(said.state, 'away')
  assert.ok(Number(said.away) >= 20)
  assert.ok(asked < 40, `${asked} questions for 20 calls`)

  isLate = false
  let id = 100
  await until(async () => {
    await call(near, 'look', { id: id++ })
    return (await report(one)).state === 'up'
  })
})

test(
  'with Redis killed and stopped each goes on with its own memory, and shares again',
  { skip },
  async t => {
    const web = await counted(t)
    const place = await PLACES.redis?.(t)
    const redis = place?.redis
    if (redis === undefined) throw new Error('there is no Redis')
    const config = configFor(web, { cache: { shared: { wait: '200ms' } } })
    const one = await replica(t, redis, config)
    const near = await clientOf(t, one)
    let id = 0
    const shares = (): Promise<void> =>
      until(async () => {
        const before = Number((await report(one)).writes)
        await call(near, 'look', { id: id++ })
        await new Promise(resolve => setTimeout(resolve, 50))
        return Number((await report(one)).writes) > before
      })
    await shares()

    redis.signal('SIGSTOP')
    for (let number = 0; number < 5; number++) assert.match(await call(near, 'look', { id: id++ }), /^look/)
    assert.equal(await call(near, 'look', { id: id - 1 }), `look ${web.asked('look')}`, 'from its own memory')
    redis.signal('SIGCONT')
    await shares()

    await redis.stop()
    for (let number = 0; number < 5; number++) assert.match(await call(near, 'look', { id: id++ }), /^look/)
    assert.ok(Number((await report(one)).away) > 0)
    await redis.start()
    await shares()
  },
)

test('in Redis there is neither an argument nor a caller nor an answer to read', { skip }, async t => {
  const web = await counted(t)
  const place = await PLACES.redis?.(t)
  const redis = place?.redis
  if (redis === undefined) throw new Error('there is no Redis')
  const one = await replica(t, redis, configFor(web))
  await call(await clientOf(t, one), 'look', { secret: 'tangerine' })
  await given(one, 1)
  const names = [...(await redis.ask('KEYS', '*')).matchAll(/^tg:.*$/gm)].map(([name]) => name.trim())
  const values = await Promise.all(names.map(name => redis.ask('GET', name)))
  const all = [...names, ...values].join('\n')
  assert.ok(names.length > 2)
  for (const word of ['tangerine', 'look', 'tools/call', 'anonymous'])
    assert.equal(all.includes(word), false, word)
})
