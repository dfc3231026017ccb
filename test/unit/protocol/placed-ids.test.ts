import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findRequestReplica } from '../../../src/protocol/replica-ids.ts'

const PLACE = 'r0123456789abcdef'
const SEALED = `${PLACE}.${'a'.repeat(60)}`

test('a request names the process that keeps what it is about', () => {
  for (const params of [
    { requestState: SEALED },
    { taskId: SEALED },
    { uri: `tapgate://result/${SEALED}` },
    { arguments: { handle: SEALED } },
    { arguments: { handle: `tapgate://result/${SEALED}` } },
    { arguments: { uri: `tapgate://result/${SEALED}` } },
    { arguments: { name: 'read_result', arguments: { handle: SEALED } } },
    { notifications: { taskIds: [SEALED] } },
  ])
    assert.equal(findRequestReplica(params), PLACE, JSON.stringify(params))
})

test('what only looks like it names nobody', () => {
  for (const params of [
    undefined,
    {},
    { taskId: 1 },
    { uri: `https://example.com/${SEALED}` },
    { arguments: { handle: `${PLACE}.short` } },
    { arguments: { handle: 7, arguments: [SEALED] } },
    { arguments: { uri: SEALED } },
    { arguments: { path: SEALED, arguments: 'x' } },
    { arguments: null },
  ])
    assert.equal(findRequestReplica(params), undefined, JSON.stringify(params))
})
