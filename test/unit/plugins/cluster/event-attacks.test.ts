import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { skip } from '../../../fixtures/redis.ts'
import {
  KIB,
  LISTENS,
  MIB,
  pair,
  Reader,
  replicaOf,
  resume,
  said,
  saidBy,
  saidIn,
  SESSION,
  storeAt,
  written,
} from './event-setting.ts'
import { KEY, until } from './setting.ts'

test(
  'two replicas that both believe they have a session: the later owner alone adds to its events',
  { skip },
  async t => {
    const { redis, one, other } = await pair(t)
    const { reader, stream: stale } = await saidBy(one, 'a')
    const { standalone } = await other.goesOn()

    for (let count = 0; count < 20; count++) stale.notify(said(`stale ${count}`))
    standalone?.notify(said('b'))
    await written(other)
    await until(async () => (await redis.counts()).xinfo === 1)
    one.kept.writeAgain()
    one.kept.tend()

    const third = await replicaOf(await storeAt(t, redis.url), 3).goesOn()
    assert.deepEqual(saidIn(resume(third.store, reader.ids[0] ?? '')), ['a', 'b'])
  },
)

test(
  'while Redis is stopped 10,000 events wait for nothing and pile up nowhere, and the last ones are written when it is back',
  { skip },
  async t => {
    const { redis, one, other } = await pair(t)
    const { reader, stream } = await saidBy(one, 'before')
    redis.signal('SIGSTOP')
    cleanup(t, () => redis.signal('SIGCONT'))

    for (let count = 0; count < 10_000; count++) {
      stream.notify(said(`${count}`))
      if (count % 500 === 0) await new Promise(resolve => setImmediate(resolve))
    }
    assert.equal(reader.messages.length, 10_001)
    assert.ok(one.kept.waiting <= 128)
    reader.isOpen = false

    redis.signal('SIGCONT')
    await written(one)
    const { store } = await other.goesOn()
    assert.deepEqual(saidIn(resume(store, reader.ids.at(-4) ?? '')), [9997, 9998, 9999].map(String))
    assert.equal(saidIn(resume(store, reader.ids[0] ?? '')).length, 128)
  },
)

test('2,000 sessions that end at once leave no events in Redis', { skip }, async t => {
  const { redis, one } = await pair(t)
  const ended = Array.from({ length: 2000 }, (_, number) => `r0_${number}`)
  const stores = ended.map(id => one.session(id))
  for (const store of stores) store.begin(new Reader().stream, LISTENS).notify(said('x'))
  await written(one)
  assert.match(await redis.ask('DBSIZE'), /^:2000\r/)

  for (const [index, store] of stores.entries()) {
    store.close()
    one.kept.end(ended[index] ?? '')
  }

  await until(async () => (await redis.ask('DBSIZE')).startsWith(':0\r'))
})

test(
  'a Redis that comes back empty is given again what the session keeps, and so is one whose key was rotated',
  { skip },
  async t => {
    const { redis, one, other } = await pair(t)
    const { reader, stream } = await saidBy(one, 'a', 'b')
    await redis.ask('FLUSHALL')
    stream.notify(said('c'))
    await until(async () => {
      one.kept.tend()
      return (await redis.ask('XLEN', `tg:g:e:${SESSION}`)).startsWith(':4\r')
    })

    const next = { id: 'b', key: randomBytes(32).toString('base64') }
    for (const { ring } of [one, other]) ring.become([next, KEY])
    one.kept.writeAgain()
    await written(one)
    await until(async () => !(await redis.ask('XRANGE', `tg:g:e:${SESSION}`, '-', '+')).includes('v1.a.'))
    other.ring.become([next])

    const { store } = await other.goesOn()
    assert.deepEqual(saidIn(resume(store, reader.ids[0] ?? '')), ['a', 'b', 'c'])
  },
)

test('what is sealed with a key that nobody has any more is as good as not there', { skip }, async t => {
  const { redis, one, other } = await pair(t)
  const { reader } = await saidBy(one, 'a')
  other.ring.become([{ id: 'b', key: randomBytes(32).toString('base64') }])

  const { store, standalone } = await other.goesOn()

  assert.equal(standalone, undefined)
  assert.equal(store.find(reader.ids[0] ?? ''), undefined)
  const mine = store.begin(new Reader().stream, LISTENS)
  mine.notify(said('mine'))
  await written(other)
  await until(async () => (await redis.ask('XLEN', `tg:g:e:${SESSION}`)).startsWith(':2\r'))
})

test(
  'an event of 1 MB is not kept in Redis: who has not read it is refused, and who has goes on',
  { skip },
  async t => {
    const { redis, one, other } = await pair(t)
    const { reader } = await saidBy(one, 'a', 'x'.repeat(MIB - KIB), 'b')
    const call = one.session('r0_other').begin(new Reader().stream, { request: 1 })
    call.prime()
    call.end(`{"jsonrpc":"2.0","id":1,"result":{"text":"${'y'.repeat(300 * KIB)}"}}`)
    await written(one)
    assert.ok(Number((await redis.ask('MEMORY', 'USAGE', `tg:g:e:${SESSION}`)).match(/\d+/)?.[0]) < 64 * KIB)

    const { store } = await other.goesOn()
    assert.equal(store.find(reader.ids[1] ?? ''), undefined)
    assert.deepEqual(saidIn(resume(store, reader.ids[2] ?? '')), ['b'])
    assert.equal((await other.goesOn('r0_other')).store.find(`${call.id}.1`), undefined)
  },
)

test(
  'forged ids, ids of another session, and entries that somebody moved in Redis open no stream',
  { skip },
  async t => {
    const { redis, one, other } = await pair(t)
    const [mine, theirs] = [new Reader(), new Reader()]
    const [my, their] = [one.session('r0_mine'), one.session('r0_theirs')]
    const stream = my.begin(mine.stream, LISTENS)
    stream.notify(said('mine'))
    their.begin(theirs.stream, LISTENS).notify(said('secret'))
    await written(one)
    const stored = await redis.ask('XRANGE', 'tg:g:e:r0_theirs', '-', '+')
    const [, sealed = ''] = /(v1\.a\.[\w-]+)/.exec(stored) ?? []
    assert.doesNotMatch(stored, /secret/)
    await redis.ask('XADD', 'tg:g:e:r0_mine', '1-5', 'e', sealed)
    await redis.ask('XADD', 'tg:g:e:r0_mine', '1-6', 'e', 'v1.a.nonsense')
    await redis.ask('XADD', 'tg:g:e:r0_mine', '1-7', 'f', 'a', 'g', 'b')

    const { store } = await other.goesOn('r0_mine')
    const asked = await redis.counts()
    for (const id of [
      theirs.lastId,
      'AAAAAAAA.1.1',
      `${stream.id}.`,
      `${stream.id}.99999999999999999`,
      '',
      '\n',
    ])
      assert.equal(store.find(id), undefined, id)
    assert.deepEqual(saidIn(resume(store, `${stream.id}.0`)), ['mine'])
    assert.deepEqual(saidIn(resume(store, `${stream.id}.999999`)), [])
    assert.deepEqual(await redis.counts(), asked, 'Redis is asked for none of them')
  },
)
