import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newId } from '../../../../plugins/approve/waiting-calls.ts'

test('the id of a call that waits is never taken for a flag where it is typed', () => {
  const ids = Array.from({ length: 2000 }, newId)

  assert.deepEqual(
    ids.filter(id => !/^[\w][\w-]{11}$/.test(id)),
    [],
  )
  assert.equal(new Set(ids).size, ids.length)
})
