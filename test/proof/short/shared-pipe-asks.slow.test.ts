import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crowd } from '../access/crowd.ts'

test('calls of many clients with equal ids share one legacy pipe, and each ask, answer, log and progress is its own', async () => {
  const warnings: string[] = []

  const { heard, mismatched, failures } = await crowd(6, 20, line => warnings.push(line))

  assert.deepEqual(failures, [])
  assert.deepEqual(mismatched, { answers: 0, asks: 0, progress: 0, logs: 0 })
  assert.deepEqual(heard, { answers: 120, asks: 120, progress: 240, logs: 240 })
  assert.deepEqual(warnings, [])
})
