import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodesFor, skip } from '../../../fixtures/redis.ts'
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
import { until } from './setting.ts'

test(
  'another replica goes on with each stream after what its client has read, in order, each event once',
  { skip },
  async t => {
    const { one, other } = await pair(t)
    const store = one.session()
    const [listens, calls] = [new Reader(), new Reader()]
    const standalone = store.begin(listens.stream, LISTENS)
    standalone.prime()
    const call = store.begin(calls.stream, { request: 7 })
    call.prime()
    for (const text of ['a', 'b']) standalone.notify(said(text))
    call.notify(said('half'))
    for (const reader of [listens, calls]) reader.isOpen = false
    for (const text of ['c', 'd', 'ä\u2028"']) standalone.notify(said(JSON.stringify(text).slice(1, -1)))
    call.notify(said('more'))
    call.end('{"jsonrpc":"2.0","id":7,"result":{"done":true}}')
    await written(one)

    const gone = await other.goesOn()
    assert.ok(gone.standalone)
    gone.standalone.notify(said('later'))

    const again = resume(gone.store, listens.lastId)
    assert.deepEqual(saidIn(again), ['c', 'd', 'ä\u2028"', 'later'])
    gone.standalone.notify(said('live'))
    assert.equal(saidIn(again).at(-1), 'live')
    assert.deepEqual(saidIn(resume(gone.store, calls.lastId)), [
      'more',
      { jsonrpc: '2.0', id: 7, result: { done: true } },
    ])
    const ids = [...listens.ids, ...calls.ids, ...again.ids]
    assert.equal(new Set(ids).size, ids.length)
    assert.equal(other.kept.restored, 8)
    assert.deepEqual(saidIn(resume(gone.store, again.ids[2] ?? '')), ['later', 'live'])
  },
)

test(
  'a third replica goes on with what two before it have sent, and a client that read more than was kept misses nothing later',
  { skip },
  async t => {
    const { redis, one, other } = await pair(t)
    const { reader, stream: first } = await saidBy(one, 'a')
    // Redis never hears of these.
    one.epoch = 0
    for (const text of ['b', 'c']) first.notify(said(text))

    const second = await other.goesOn()
    second.standalone?.notify(said('d'))
    assert.deepEqual(saidIn(resume(second.store, reader.lastId)), ['d'])
    second.standalone?.notify(said('e'))
    await written(other)

    const third = await replicaOf(await storeAt(t, redis.url), 3).goesOn()
    assert.deepEqual(saidIn(resume(third.store, reader.lastId)), ['d', 'e'])
    assert.deepEqual(saidIn(resume(third.store, reader.ids[0] ?? '')), ['a', 'd', 'e'])
  },
)

test(
  'who comes back for the answer of a call that died with its replica is told that it is lost; requests of servers are not said again',
  { skip },
  async t => {
    const { one, other } = await pair(t)
    const reader = new Reader()
    const call = one.session().begin(reader.stream, { request: 'q' })
    call.prime()
    call.send('{"jsonrpc":"2.0","id":"ask-1","method":"elicitation/create","params":{}}')
    call.notify(said('half'))
    await written(one)

    const { store } = await other.goesOn()
    const again = resume(store, reader.ids[0] ?? '')

    assert.equal(again.isOpen, false)
    assert.equal(again.messages.length, 2)
    const last = JSON.parse(again.messages[1] ?? '') as { id: string; error: { message: string } }
    assert.equal(last.id, 'q')
    assert.match(last.error.message, /its answer is lost/)
  },
)

test(
  'each event costs Redis one command at most, those that come together share one, and what is dropped is deleted with the next',
  { skip },
  async t => {
    const { redis, one } = await pair(t)
    const store = one.session()
    const stream = store.begin(new Reader().stream, LISTENS)
    stream.notify(said('first'))
    await written(one)
    const before = await redis.counts()

    for (let count = 0; count < 50; count++) {
      stream.notify(said(`${count}`))
      await written(one)
    }
    const apart = await redis.counts()
    for (let count = 0; count < 300; count++) stream.notify(said(`${count}`))
    await written(one)

    const after = await redis.counts()
    const scripts = (counts: Record<string, number>): number => (counts.evalsha ?? 0) + (counts.eval ?? 0)
    assert.equal(scripts(apart) - scripts(before), 50)
    assert.ok(scripts(after) - scripts(apart) <= 10, `${scripts(after) - scripts(apart)} commands`)
    assert.equal((await redis.ask('XLEN', `tg:g:e:${SESSION}`)).split('\r\n')[0], ':128')
    assert.equal(one.kept.lost, 172)
    const life = Number((await redis.ask('PTTL', `tg:g:e:${SESSION}`)).match(/\d+/)?.[0])
    assert.ok(life > 200_000 && life <= 300_000)

    store.close()
    one.kept.end(SESSION)
    await until(async () => (await redis.ask('EXISTS', `tg:g:e:${SESSION}`)).startsWith(':0'))
  },
)

test(
  'events that a session drops for its caller’s share go from Redis, too; quiet ones live on as long as a stream is open',
  { skip },
  async t => {
    const { redis, one } = await pair(t)
    const store = one.session()
    const stream = store.begin(new Reader().stream, LISTENS)
    for (let count = 0; count < 6; count++) stream.notify(said('x'.repeat(200 * KIB)))
    await written(one)
    assert.ok(Number((await redis.ask('MEMORY', 'USAGE', `tg:g:e:${SESSION}`)).match(/\d+/)?.[0]) < 1.6 * MIB)
    assert.match(await redis.ask('XLEN', `tg:g:e:${SESSION}`), /^:5\r/)

    await redis.ask('PEXPIRE', `tg:g:e:${SESSION}`, '60000')
    const before = await redis.counts()
    one.kept.tend()
    one.clock.pass(201_000)
    one.kept.tend()
    await until(
      async () => Number((await redis.ask('PTTL', `tg:g:e:${SESSION}`)).match(/\d+/)?.[0]) > 200_000,
    )
    const after = await redis.counts()
    assert.equal((after.evalsha ?? 0) - (before.evalsha ?? 0), 1)

    store.forget(stream)
    await written(one)
    await until(async () => (await redis.ask('XLEN', `tg:g:e:${SESSION}`)).startsWith(':0\r'))
  },
)

test('in a Redis Cluster events are found whatever node has them', { skip }, async t => {
  const nodes = await nodesFor(t, 3)
  const way = { nodes: [`127.0.0.1:${nodes[0]?.port ?? 0}`] }
  const [one, other] = [replicaOf(await storeAt(t, way), 1), replicaOf(await storeAt(t, way), 2)]
  const readers = Array.from({ length: 20 }, () => new Reader())
  readers.forEach((reader, index) => {
    const stream = one.session(`r0_${index}`).begin(reader.stream, LISTENS)
    stream.prime()
    stream.notify(said(`of ${index}`))
  })
  await written(one)

  for (const [index, reader] of readers.entries()) {
    const { store } = await other.goesOn(`r0_${index}`)
    assert.deepEqual(saidIn(resume(store, reader.ids[0] ?? '')), [`of ${index}`])
  }
  const sizes = await Promise.all(nodes.map(async node => node.ask('DBSIZE')))
  assert.ok(sizes.filter(size => !size.startsWith(':0')).length > 1, 'they are spread')
})
