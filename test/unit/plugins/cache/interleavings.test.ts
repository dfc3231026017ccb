import assert from 'node:assert/strict'
import { test } from 'node:test'
import { interleave } from '../../../proof/cache/interleavings.ts'

test('whoever asks what, whenever, under whichever configuration, nobody gets what is not theirs', async () => {
  const { turns, upstreamCalls, reloads, foreign } = await interleave(7, 1600)

  assert.deepEqual(foreign, [])
  assert.ok(reloads > 0 && upstreamCalls < turns, `${upstreamCalls} calls, ${reloads} reloads`)
})
