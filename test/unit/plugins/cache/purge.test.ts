import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PipelineCall } from '../../../../src/core/exchange.ts'
import type { Answer } from '../../../../src/api/index.ts'
import { ask, bench, tool, valueOf } from './bench.ts'
import { resultOf, soon } from '../install.ts'

test('a success of a tool makes others out of date, for everyone and under way', async () => {
  const under = Promise.withResolvers<Answer>()
  const tools = {
    'web__get_*': '1h',
    web__look: '1h',
    web__create: { purges: ['web__get_*'] },
    web__touch: { purges: ['web__look', 'resource:issue:*'] },
  }
  const { calls, dispatch } = await bench({ tools, resources: '1h' }, (call, nth) => {
    if (call.params?.arguments !== undefined && 'slow' in (call.params.arguments as object)) return under.promise
    return resultOf({
      nth,
      isError: (call.params?.arguments as { fails?: boolean } | undefined)?.fails === true,
    })
  })
  const n = async (call: PipelineCall) => valueOf(await dispatch(call)).nth
  const kept = () =>
    Promise.all([
      n(tool('get_a', {}, { subject: 'ann' })),
      n(tool('look')),
      n(ask('resources/read', { uri: 'issue:1' })),
      n(ask('resources/read', { uri: 'page:1' })),
    ])
  assert.deepEqual(await kept(), [1, 2, 3, 4])

  await dispatch(tool('create', { fails: true }))
  assert.deepEqual(await kept(), [1, 2, 3, 4])

  const slow = dispatch(tool('get_b', { slow: 1 }))
  await soon()
  await dispatch(tool('create', {}))
  under.resolve(resultOf({ nth: 'before the change' }))
  await slow
  assert.deepEqual(await kept(), [8, 2, 3, 4])
  await dispatch(tool('get_b', { slow: 1 }))
  assert.equal(calls.filter(({ params }) => params?.name === 'get_b').length, 2)

  await dispatch(tool('touch'))
  assert.deepEqual(await kept(), [8, 11, 12, 4])
})

test('a change of which nobody knows whether it happened counts as one', async () => {
  const { dispatch } = await bench(
    { tools: { web__get: '1h', web__create: { purges: ['web__get'] } as never } },
    (call, nth) => {
      if (call.params?.name === 'create') throw new Error('timeout')
      return resultOf({ nth })
    },
  )
  await dispatch(tool('get'))
  await assert.rejects(dispatch(tool('create')), /timeout/)

  assert.deepEqual(valueOf(await dispatch(tool('get'))), { nth: 3 })
})

test('resources/updated forgets that resource alone', async () => {
  const { hooks, calls, dispatch } = await bench({ resources: '1h' })
  const read = (uri: string) => dispatch(ask('resources/read', { uri }))
  await read('a:1')
  await read('a:2')

  hooks.getRunner('notification', 'notifications/resources/updated')?.(
    { method: 'notifications/resources/updated', params: { uri: 'a:1' } },
    { direction: 'client', upstream: 'web', exchange: undefined },
  )
  await read('a:1')
  await read('a:2')

  assert.equal(calls.length, 3)
})
