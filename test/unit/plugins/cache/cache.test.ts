import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cache } from '../../../../plugins/cache/index.ts'
import type { Answer, Call } from '../../../../src/api/index.ts'
import type { CacheConfig } from '../../../../src/config/config.gen.ts'
import { callOf, exchangeOf, install, resultOf, sessionOf, soon, wrapped } from '../install.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

const OPTIONS: CacheConfig = { lists: '5m', maxEntries: 1000, maxBytes: '64MiB' }

async function upstreamBehindCache(
  answer: (call: Call) => Answer | Promise<Answer> = () => resultOf({ tools: [] }),
  lists = '5m',
) {
  const clock = new HandClock()
  const hooks = await install(cache, { ...OPTIONS, lists }, undefined, clock)
  const calls: Call[] = []
  const dispatch = wrapped(hooks, 'web', async call => {
    calls.push(call)
    return answer(call)
  })
  return { clock, hooks, calls, dispatch }
}

const list = (params?: Record<string, unknown>) => callOf('web', 'tools/list', params)

test('a second list is the very payload of the first, without a call', async () => {
  const { calls, dispatch } = await upstreamBehindCache()

  const first = await dispatch(list())
  const second = await dispatch(list())

  assert.ok('result' in first && 'result' in second && first.result === second.result)
  assert.equal(calls.length, 1)
})

test('a list grows old after its time', async () => {
  const { clock, calls, dispatch } = await upstreamBehindCache()
  await dispatch(list())

  clock.pass(5 * 60_000)
  await dispatch(list())

  assert.equal(calls.length, 2)
})

test('cursor, principal and headers each have a list of their own; _meta has not', async () => {
  const { calls, dispatch } = await upstreamBehindCache()
  const withHeader = list()
  withHeader.headers['x-session-id'] = 'a'

  await dispatch(list())
  await dispatch(list({ _meta: { progressToken: 7 } }))
  await dispatch(list({ cursor: '2' }))
  await dispatch(withHeader)
  await dispatch(callOf('web', 'tools/list', undefined, exchangeOf('tools/list', undefined, sessionOf('c', 'ann'))))
  await dispatch(callOf('web', 'tools/list', undefined, exchangeOf('tools/list', undefined, sessionOf('d', 'ann'))))

  assert.equal(calls.length, 4)
})

test('a list that a modern server calls public is shared between principals', async () => {
  const { calls, dispatch } = await upstreamBehindCache(() =>
    resultOf({ tools: [], ttlMs: 60_000, cacheScope: 'public' }, 'modern'),
  )
  const as = (subject: string) =>
    callOf('web', 'tools/list', undefined, exchangeOf('tools/list', undefined, sessionOf('c', subject)))

  await dispatch(as('ann'))
  await dispatch(as('bob'))

  assert.equal(calls.length, 1)
})

test("a modern server's own time is honoured up to ours, and 0 keeps nothing", async () => {
  let ttlMs = 1000
  const { clock, calls, dispatch } = await upstreamBehindCache(() =>
    resultOf({ tools: [], ttlMs, cacheScope: 'private' }, 'modern'),
  )

  await dispatch(list())
  clock.pass(999)
  await dispatch(list())
  assert.equal(calls.length, 1)

  clock.pass(1)
  ttlMs = 3_600_000
  await dispatch(list())
  clock.pass(5 * 60_000)
  ttlMs = 0
  await dispatch(list())
  await dispatch(list())
  assert.equal(calls.length, 4)
})

test('callers at the same time share one call', async () => {
  const { promise, resolve } = Promise.withResolvers<Answer>()
  const { calls, dispatch } = await upstreamBehindCache(() => promise)

  const both = [dispatch(list()), dispatch(list())]
  await soon()
  resolve(resultOf({ tools: [] }))
  const [first, second] = await Promise.all(both)

  assert.equal(first, second)
  assert.equal(calls.length, 1)
})

test('who joined a call asks anew when the one who made it gave up', async () => {
  const first = Promise.withResolvers<Answer>()
  const answers = [first.promise, Promise.resolve(resultOf({ tools: [] }))]
  const { calls, dispatch } = await upstreamBehindCache(() => answers.shift() as Promise<Answer>)
  const leader = exchangeOf('tools/list')
  const leading = dispatch(callOf('web', 'tools/list', undefined, leader))
  const joined = dispatch(list())
  await soon()

  leader.cancel('enough')
  first.reject(new Error('cancelled'))

  await assert.rejects(leading, /cancelled/)
  assert.ok('result' in (await joined))
  assert.equal(calls.length, 2)
})

test('an error is never kept, and reaches all who wait', async () => {
  let fails = true
  const { calls, dispatch } = await upstreamBehindCache(() =>
    fails ? { error: { code: -32603, message: 'no' } } : resultOf({ tools: [] }),
  )

  assert.ok('error' in (await dispatch(list())))
  fails = false

  assert.ok('result' in (await dispatch(list())))
  assert.equal(calls.length, 2)
})

test('list_changed of an upstream forgets that list only, and what was under way is not kept', async () => {
  const { promise, resolve } = Promise.withResolvers<Answer>()
  const answers: (Answer | Promise<Answer>)[] = [promise, resultOf({ tools: [] }), resultOf({ prompts: [] })]
  const { hooks, calls, dispatch } = await upstreamBehindCache(() => answers.shift() as Answer)
  const changed = (upstream: string, direction: 'client' | 'upstream' = 'client') =>
    hooks.getRunner('notification', 'notifications/tools/list_changed')?.(
      { method: 'notifications/tools/list_changed', params: undefined },
      { direction, upstream, exchange: undefined },
    )

  const underWay = dispatch(list())
  await soon()
  changed('web')
  resolve(resultOf({ tools: [] }))
  await underWay
  await dispatch(list())
  await dispatch(callOf('web', 'prompts/list'))
  assert.equal(calls.length, 3)

  changed('other')
  changed('web', 'upstream')
  await dispatch(list())
  assert.equal(calls.length, 3)

  answers.push(resultOf({ tools: [] }))
  changed('web')
  await dispatch(list())
  await dispatch(callOf('web', 'prompts/list'))
  assert.equal(calls.length, 4)
})

test('an upstream that comes or goes loses its lists', async () => {
  const { hooks, calls, dispatch } = await upstreamBehindCache()
  await dispatch(list())

  hooks.getRunner('upstreamState')?.('web', 'failed', 'gone')
  await dispatch(list())

  assert.equal(calls.length, 2)
})

test('the least recently used list is dropped beyond a thousand', async () => {
  const { calls, dispatch } = await upstreamBehindCache()
  for (let page = 0; page < 1000; page++) await dispatch(list({ cursor: String(page) }))
  await dispatch(list({ cursor: '0' }))
  await dispatch(list({ cursor: 'one more' }))
  assert.equal(calls.length, 1001)

  await dispatch(list({ cursor: '0' }))
  assert.equal(calls.length, 1001)
  await dispatch(list({ cursor: '1' }))
  assert.equal(calls.length, 1002)
})
