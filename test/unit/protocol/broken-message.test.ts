import assert from 'node:assert/strict'
import { test } from 'node:test'
import { replyIdOf } from '../../../src/protocol/broken-message.ts'

const CASES: readonly (readonly [string, string | number | null])[] = [
  ['{"id":7,"result":tru', 7],
  ['{"result":[1,],"id":"a"}', 'a'],
  ['{"id":7,"error":{"id":8},"method":"x"}', 7],
  ['{"method":"x","id":7,"result":tru', null],
  ['{"id":7,"params":{"result":1},"method":"x"}', null],
  ['{"result":{"id":7}', null],
]

for (const [text, id] of CASES)
  test(`the call that is answered by ${text} is ${String(id)}`, () => {
    assert.equal(replyIdOf(Buffer.from(text)), id)
  })

test('behind the id and the beginning of a result a broken message is not read', () => {
  const text = Buffer.from(`{"id":7,"result":${'['.repeat(1000)}`)
  const read: number[] = []
  const watched = new Proxy(text, {
    get: (bytes, name) => {
      if (typeof name === 'string' && /^\d+$/.test(name)) read.push(Number(name))
      const value: unknown = Reflect.get(bytes, name, bytes)
      return typeof value === 'function' ? (value as () => unknown).bind(bytes) : value
    },
  })

  assert.equal(replyIdOf(watched), 7)
  assert.ok(Math.max(...read) < 100)
})
