import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, bench } from './bench.ts'
import { resultOf } from '../install.ts'

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

test('a list of somebody is not saved for the next start, and one of nobody is', async () => {
  const saved: unknown[] = []
  const memory = { read: () => undefined, write: (_part: string, value: unknown) => saved.push(value) }
  const upstream = { name: 'web', spec: { timeout: '60s' }, state: 'ready' as const, memory }
  const { dispatch } = await bench({}, () => resultOf({ tools: [] }), {}, upstream)

  await dispatch(ask('tools/list', undefined, { subject: 'ann' }))
  assert.deepEqual(saved.flat(), [])
  await dispatch(ask('tools/list'))
  assert.equal(saved.flat().length, 1)
})

test('a server that failed is not taken to offer what it did', async () => {
  let isDown = false
  const { dispatch, become } = await bench({ lists: '1h' }, () => {
    if (isDown) throw new Error('gone')
    return resultOf({ tools: [] })
  })
  await dispatch(ask('tools/list'))
  isDown = true
  become('failed')
  become('starting')

  await assert.rejects(dispatch(ask('tools/list')), /gone/)
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
