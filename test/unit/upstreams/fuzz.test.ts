import assert from 'node:assert/strict'
import { it } from 'node:test'
import { bench, script, stdioSpec, textOf, toolCall } from '../fixtures/upstream-bench.ts'
import { until } from '../../fixtures/until.ts'

it('of ten thousand messages that are nobody’s none is delivered, and each is counted', async t => {
  const it = await bench(t, stdioSpec([script('fuzzing-server.mjs')]))
  const calls = [
    toolCall('first', {}, { progressToken: 'mine' }),
    toolCall('second', { messages: 10_000 }, { progressToken: 'mine' }),
  ] as const
  const first = it.upstream.dispatch(calls[0])
  await until(() => it.stderr().includes('open'), 'the first call is open')

  const sent = JSON.parse(textOf(await it.upstream.dispatch(calls[1]))) as Record<string, number>

  assert.equal(textOf(await first), 'unharmed')
  assert.deepEqual({ ...it.upstream.dropped }, sent)
  assert.deepEqual([...it.notified, ...it.asked, ...calls.flatMap(({ emitted }) => emitted)], [])
  assert.equal(it.upstream.state, 'ready')
})
