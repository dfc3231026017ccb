import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compile, complaints } from '../guard/program.ts'

test('a plugin compiles against the published types, and its mistakes do not', () => {
  const file = 'test/types/plugin.ts'

  assert.deepEqual(complaints(compile(file), file), [])
})
