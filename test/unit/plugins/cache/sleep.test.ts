import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SavedLists } from '../../../../plugins/cache/list-memory.ts'
import { Store, Counts } from '../../../../plugins/cache/store.ts'
import { Payload } from '../../../../src/protocol/payload.ts'
import { ask, bench } from './bench.ts'
import { resultOf } from '../install.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

const modern = (ttlMs: number, cacheScope = 'private', tools: unknown[] = []) =>
  resultOf({ tools, ttlMs, cacheScope, resultType: 'complete' }, 'modern')

test('the list of a server that sleeps is known without waking it, however old', async () => {
  const { clock, calls, dispatch, become } = await bench({}, () => modern(0))
  await dispatch(ask('tools/list'))
  become('idle')
  clock.pass(86_400_000)

  await dispatch(ask('tools/list'))
  become('starting')
  await dispatch(ask('tools/list'))

  assert.equal(calls.length, 1)
})

test('a new process is asked, and the same list stays the very same payload', async () => {
  let tools: unknown[] = [{ name: 'a' }]
  const { calls, dispatch, become } = await bench({}, () => resultOf({ tools }))
  const list = async () => {
    const answer = await dispatch(ask('tools/list'))
    return 'result' in answer ? answer.result : undefined
  }
  const first = await list()

  for (const state of ['idle', 'starting', 'ready'] as const) become(state)
  assert.equal(await list(), first)
  assert.equal(calls.length, 2)
  assert.equal(await list(), first)
  assert.equal(calls.length, 2)

  become('ready')
  tools = [{ name: 'b' }]
  assert.notEqual(await list(), first)
})

test('a server that failed is not taken to offer what it did, unless the policy says so', async () => {
  const policy = { ttl: '1h', staleWhileRevalidate: 0, staleIfError: '1h' }
  for (const lists of ['1h', policy]) {
    let isDown = false
    const { dispatch, become } = await bench({ lists }, () => {
      if (isDown) throw new Error('gone')
      return resultOf({ tools: [] })
    })
    await dispatch(ask('tools/list'))
    isDown = true
    become('failed')
    become('starting')

    if (typeof lists === 'string') await assert.rejects(dispatch(ask('tools/list')), /gone/)
    else assert.ok('result' in (await dispatch(ask('tools/list'))))
  }
})

test('a reload keeps the list of a server that sleeps, and asks one that runs', async () => {
  const before = await bench({}, () => resultOf({ tools: [{ name: 'a' }] }))
  await before.dispatch(ask('tools/list'))
  const first = await before.dispatch(ask('tools/list'))
  before.become('idle')

  const after = await bench({}, () => resultOf({ tools: [{ name: 'a' }] }), {}, before.upstream)
  const asleep = await after.dispatch(ask('tools/list'))
  assert.ok('result' in first && 'result' in asleep && first.result === asleep.result)
  assert.equal(after.calls.length, 0)
  after.become('ready')
  const awake = await after.dispatch(ask('tools/list'))
  assert.ok('result' in awake && first.result === awake.result)
  assert.equal(after.calls.length, 1)

  const other = await bench({}, () => resultOf({ tools: [] }))
  other.become('idle')
  await other.dispatch(ask('tools/list'))
  assert.equal(other.calls.length, 1)
})

test('lists that are nobody’s can be taken out, and are shown again before their server runs', () => {
  const clock = new HandClock()
  const before = new Store({ maxEntries: 10, maxBytes: 1e6 }, new Counts())
  const after = new Store({ maxEntries: 10, maxBytes: 1e6 }, new Counts())
  const key = (scope: string) => `${scope} key`
  const lists = new SavedLists(after, clock)
  for (const [scope, isPortable] of [
    ['public', true],
    ['principal', false],
  ] as const) {
    const payload = Payload.raw(Buffer.from(`{"tools":["${scope}"]}`), 'legacy')
    before.keep({
      ...{
        upstream: 'web',
        method: 'tools/list',
        target: '',
        tags: [],
        key: key(scope),
        scope,
        payload,
        isPortable,
      },
      ...{
        meta: undefined,
        hintUntil: undefined,
        bytes: 100,
        storedAt: 0,
        staleAt: 1000,
        hits: 0,
        trust: 'known',
      },
      ...{ revalidateUntil: 1000, errorUntil: 1000 },
    })
  }
  clock.pass(400)

  const saved = new SavedLists(before, clock).all('web')
  lists.prime(saved)

  assert.deepEqual(
    saved.map(({ bytes, ...rest }) => ({ ...rest, bytes: bytes.toString() })),
    [
      {
        ...{ upstream: 'web', method: 'tools/list', key: key('public'), scope: 'public', era: 'legacy' },
        ...{ ageMs: 400, ttlMs: 600, bytes: '{"tools":["public"]}' },
      },
    ],
  )
  assert.equal(after.find(key('public'))?.trust, 'doubtful')
  assert.equal(after.find(key('public'))?.payload.bytes().toString(), '{"tools":["public"]}')
})
