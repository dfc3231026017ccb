import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bytesOf, tokensIn } from '../../../src/util/units.ts'

test('tokens are estimated from bytes, so that a text in another script counts for more than its letters', () => {
  assert.equal(tokensIn(''), 0)
  assert.equal(tokensIn(36), 10)
  assert.equal(tokensIn('a'.repeat(37)), 11)
  assert.equal(tokensIn('字'.repeat(12)), 10)
})

test('so many bytes as tokens may take are never more tokens than that', () => {
  for (let tokens = 0; tokens < 1000; tokens++) assert.ok(tokensIn(bytesOf(tokens)) <= tokens)
})
