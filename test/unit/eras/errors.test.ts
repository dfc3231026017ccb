import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toModernError } from '../../../src/protocol/era/convert.ts'

test('codes of old implementations become internal errors for a modern client, and no others', () => {
  const codes = [-32000, -32019, -32020, -31999].map(code => toModernError({ code, message: 'no' }).code)
  assert.deepEqual(codes, [-32603, -32603, -32020, -31999])
})
