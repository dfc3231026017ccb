import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findAnsweredId, removeDeepEntries } from '../../../src/protocol/broken-message.ts'

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
    assert.equal(findAnsweredId(Buffer.from(text)), id)
  })

for (const [name, text] of [
  ['has thousands of members', `{${'"a":1,'.repeat(4000)}`],
  ['has thousands of ids', `{"id":1,${'"id":2,'.repeat(4000)}`],
  ['closes more than it opens', `{}${']'.repeat(20_000)}`],
] as const)
  test(`a broken message that ${name} is given up`, () => {
    const read = watch(Buffer.from(text))

    findAnsweredId(read.bytes)

    assert.ok(read.last() < 16_000)
  })

test('a list is shortened by the entries that nest too deep, however deep', () => {
  const nested = (depth: number): string => `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`
  const list = (depth: number): Buffer =>
    Buffer.from(`{"id":7,"result":{"tools":[${nested(2)},${nested(depth)},${nested(3)}]}}`)

  for (const depth of [100, 2000, 50_000]) {
    const { bytes, withheld } = removeDeepEntries(list(depth))
    assert.equal(bytes.toString(), list(depth).toString().replace(nested(depth), 'null'))
    assert.deepEqual(withheld.map(String), [nested(depth)])
  }
  const endless = Buffer.from(`{"id":7,"result":{"tools":[${'['.repeat(20_000)}`)
  assert.deepEqual(removeDeepEntries(endless), { bytes: endless, withheld: [] })
})

/** The same bytes, and the last place of them that was read so far. */
function watch(text: Buffer): { readonly bytes: Buffer; last(): number } {
  let last = -1
  const bytes = new Proxy(text, {
    get: (bytes, name) => {
      if (typeof name === 'string' && /^\d+$/.test(name)) last = Math.max(last, Number(name))
      const value: unknown = Reflect.get(bytes, name, bytes)
      return typeof value === 'function' ? (value as () => unknown).bind(bytes) : value
    },
  })
  return { bytes, last: () => last }
}
