import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lossOf } from './fair-turns/loss.ts'

test('callers with one call after the other keep most of a server of eight places beside one with 200 calls at once', async () => {
  const { quiet, flooded, flooder } = await lossOf(2000)

  // Speed is the proof's business. In turn with all that waits they would have less than half.
  assert.ok(flooded > quiet * 0.5, `${quiet} calls alone, ${flooded} beside the flood`)
  assert.ok(flooder > 0)
})
