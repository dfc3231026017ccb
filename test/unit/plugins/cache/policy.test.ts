import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Answer } from '../../../../src/api/index.ts'
import { ask, bench, tool, valueOf } from './bench.ts'
import { resultOf, soon } from '../install.ts'

const GET = { tools: { 'web__get_*': '30s' } }

test('the order of arguments does not matter, their values and names do', async () => {
  const { calls, dispatch } = await bench(GET)

  await dispatch(tool('get_a', { x: 1, y: { b: [1], a: null } }))
  await dispatch(tool('get_a', { y: { a: null, b: [1] }, x: 1 }))
  assert.equal(calls.length, 1)

  await dispatch(tool('get_a', { x: '1', y: { b: [1], a: null } }))
  await dispatch(tool('get_a', { x: 1, y: { b: [1] } }))
  await dispatch(tool('get_a', {}))
  await dispatch(tool('get_a', { '': 0 }))
  await dispatch(tool('get_b', {}))
  assert.equal(calls.length, 6)
})

test('long arguments are told apart too', async () => {
  const { calls, dispatch } = await bench(GET)
  const long = 'x'.repeat(100_000)

  await dispatch(tool('get_a', { long }))
  await dispatch(tool('get_a', { long }))
  await dispatch(tool('get_a', { long: `${long.slice(1)}y` }))

  assert.equal(calls.length, 2)
})

test('every caller, and every set of scopes, has answers of its own', async () => {
  const { calls, dispatch } = await bench(GET)
  const of = (subject: string, scopes: string[], session = 's') =>
    dispatch(tool('get_a', {}, { subject, scopes, session }))

  await of('ann', ['a', 'b'])
  await of('ann', ['b', 'a'], 'another session')
  assert.equal(calls.length, 1)

  await of('ann', ['a'])
  await of('bob', ['a', 'b'])
  await of('ann', ['a,b'])
  assert.equal(calls.length, 4)
})

test('where sessions have processes of their own they have answers of their own', async () => {
  const { calls, dispatch } = await bench(GET, undefined, { isolation: 'session' })

  await dispatch(tool('get_a', {}, { session: 'one' }))
  await dispatch(tool('get_a', {}, { session: 'two' }))
  await dispatch(tool('get_a', {}, { session: 'two' }))

  assert.equal(calls.length, 2)
})

test('vary names sessions, headers, and the only arguments that matter', async () => {
  const vary = ['session', 'header:X-Tenant', 'argument:id']
  const { calls, dispatch } = await bench({ tools: { web__get: { ttl: '1m', vary } as never } })
  const of = (session: string, tenant: string, args: Record<string, unknown>) =>
    dispatch(tool('get', args, { session, headers: { 'x-tenant': tenant, 'x-other': tenant + session } }))

  await of('s', 't', { id: 1, trace: 'a' })
  await of('s', 't', { id: 1, trace: 'b' })
  assert.equal(calls.length, 1)

  await of('z', 't', { id: 1 })
  await of('s', 'u', { id: 1 })
  await of('s', 't', { id: 2 })
  await of('s', 't', {})
  await of('s', 't', { id: null })
  assert.equal(calls.length, 6)
})

test('errors, failed tools, tasks, wishes for input and their retries are never kept', async () => {
  const answers: Answer[] = [
    { error: { code: -32603, message: 'no' } },
    resultOf({ content: [], isError: true }),
    resultOf({ resultType: 'task', taskId: '1' }, 'modern'),
  ]
  const { calls, dispatch } = await bench(GET, (_call, nth) => answers[nth - 1] ?? resultOf({ nth }))

  for (let i = 0; i < 3; i++) await dispatch(tool('get_a'))
  assert.equal(calls.length, 3)
  await dispatch(tool('get_a'))
  await dispatch(tool('get_a'))
  assert.equal(calls.length, 4)

  await dispatch(ask('tools/call', { name: 'get_a', arguments: {}, requestState: 's' }))
  await dispatch(ask('tools/call', { name: 'get_a', arguments: {}, task: { ttl: 1 } }))
  const retry = ask('tools/call', { name: 'get_a', arguments: {}, requestState: 's' })
  retry.params = { name: 'get_a', arguments: {} }
  await dispatch(retry)
  assert.equal(calls.length, 7)
})

test('an answer for which the client was asked is its own, and who waited with it asks anew', async () => {
  const first = Promise.withResolvers<Answer>()
  const { hooks, calls, dispatch } = await bench(GET, (_call, nth) => (nth === 1 ? first.promise : resultOf({ nth })))
  const leading = tool('get_a')
  const both = [dispatch(leading), dispatch(tool('get_a'))]
  await soon()
  await hooks.getRunner('clientRequest', 'elicitation/create')?.(
    { method: 'elicitation/create', params: {} },
    leading.exchange,
  )
  first.resolve(resultOf({ nth: 'asked' }))

  assert.deepEqual((await Promise.all(both)).map(valueOf), [{ nth: 'asked' }, { nth: 2 }])
  await dispatch(tool('get_a'))
  assert.equal(calls.length, 3)
})

test('a hundred calls at once are one, and whoever leaves takes nobody along', async () => {
  const answer = Promise.withResolvers<Answer>()
  const { hooks, calls, dispatch } = await bench(GET, () => answer.promise)
  const asked = Array.from({ length: 100 }, () => tool('get_a', { id: 7 }))
  const answers = asked.map(call => dispatch(call))
  await soon()

  for (const call of asked.slice(0, 50)) call.exchange.cancel('enough')
  const left = await Promise.allSettled(answers.slice(0, 50))
  answer.resolve(resultOf({ id: 7 }))

  assert.deepEqual(new Set(left.map(({ status }) => status)), new Set(['rejected']))
  assert.deepEqual((await Promise.all(answers.slice(50))).map(valueOf), Array(50).fill({ id: 7 }))
  assert.equal(calls.length, 1)
  const status = hooks.getRunner('status')?.({ name: 'web' } as never, { name: 'web' } as never)
  const { misses, coalesced } = status?.cache as Record<string, number>
  assert.deepEqual([misses, coalesced], [1, 99])
})

test('when the last one leaves, the server is told, and the next who asks is not led astray', async () => {
  const cancelled: string[] = []
  const { calls, dispatch } = await bench(GET, (call, nth) => {
    if (nth === 2) return resultOf({ nth })
    return new Promise(resolve => {
      call.onCancel(reason => {
        cancelled.push(reason)
        resolve({ error: { code: -32603, message: 'cancelled' } })
      })
    })
  })
  const [one, two] = [tool('get_a'), tool('get_a')]
  const answers = [dispatch(one), dispatch(two)]
  await soon()

  one.exchange.cancel('first')
  assert.deepEqual(cancelled, [])
  two.exchange.cancel('second')
  const next = await dispatch(tool('get_a'))
  await Promise.allSettled(answers)

  assert.deepEqual(cancelled, ['second'])
  assert.deepEqual(valueOf(next), { nth: 2 })
  assert.equal(calls.length, 2)
})

test('what has grown old is given at once while one call asks behind it', async () => {
  const policy = { ttl: '1s', staleWhileRevalidate: '10s' }
  const { clock, calls, dispatch } = await bench({ resources: policy })
  const read = async () => valueOf(await dispatch(ask('resources/read', { uri: 'a:b' }))).nth
  assert.equal(await read(), 1)

  clock.pass(1500)
  assert.deepEqual(await Promise.all([read(), read()]), [1, 1])
  await soon()

  assert.equal(await read(), 2)
  assert.equal(calls.length, 2)
  assert.equal(calls[1]?.exchange.cancelled, false)
  clock.pass(11_001)
  assert.equal(await read(), 3)
})

test('what is asked behind it asks no client', async () => {
  const policy = { ttl: '1s', staleWhileRevalidate: '10s' }
  const { clock, calls, dispatch } = await bench({ prompts: policy }, async ({ exchange }, nth) => {
    if (nth === 2) assert.ok('error' in (await exchange.ask({ method: 'roots/list', params: {} })))
    return resultOf({ nth })
  })
  const get = async () => valueOf(await dispatch(ask('prompts/get', { name: 'p' }))).nth
  await get()
  clock.pass(1500)
  await get()
  await soon()

  // Its answer may be another than the one that a client would have been asked for.
  assert.equal(await get(), 1)
  assert.equal(calls.length, 3)
})
