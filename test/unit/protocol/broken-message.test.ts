import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findReplyId } from '../../../src/protocol/jsonrpc.ts'

const CASES: readonly (readonly [string, string | number | null | undefined])[] = [
  ['{"id":7,"result":tru', 7],
  ['{"result":[1,],"id":"a"}', 'a'],
  ['{"id":7,"error":{"id":8},"method":"x"}', 7],
  ['{"method":"x","id":7,"result":tru', undefined],
  ['{"id":7,"params":{"result":1},"method":"x"}', undefined],
  ['{"result":{"id":7},', null],
]

for (const [text, id] of CASES)
  test(`the call that is answered by ${text} is ${String(id)}`, () => {
    assert.equal(findReplyId(Buffer.from(text)), id)
  })
