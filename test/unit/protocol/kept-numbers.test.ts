import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { keepsNumbers } from '../../../src/protocol/json/scalars.ts'
import { parseMessage } from '../../../src/protocol/jsonrpc.ts'
import { hasExactNumbers } from '../../../src/protocol/params-as-written.ts'

const KEPT = ['0.30000000000000004', '-0.8444218515250481', '9007199254740992', '1e-7', '7', '-0', '1.50']
const LOST = ['9007199254740993', '-1234567890123456789', '1e400', '7.00000000000000000001', '1e5']

describe('a number in the arguments of a call', () => {
  for (const [numbers, isKept] of [
    [KEPT, true],
    [LOST, false],
  ] as const)
    for (const number of numbers)
      test(`${number} is ${isKept ? 'the same to every reader' : 'another one to JavaScript, or not written so by it'}`, () => {
        for (const text of [number, `[1,${number}]`, `{"a":"\\"9007199254740993","b":{"c":${number}}}`])
          assert.equal(keepsNumbers(Buffer.from(text)), isKept, text)
      })

  test('counts before large arguments are read as it does afterwards', () => {
    for (const [number, isKept] of [
      ['9007199254740993', false],
      ['0.30000000000000004', true],
    ] as const) {
      const params = received(`{"name":"x","arguments":{"n":${number},"fill":"${'x'.repeat(300_000)}"}}`)

      assert.equal(hasExactNumbers(params), isKept)
      assert.equal((params.arguments as JsonObject).n, Number(number))
      assert.equal(hasExactNumbers(params), isKept)
    }
  })
})

function received(params: string): JsonObject {
  const message = parseMessage(
    Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`),
  )
  return message.kind === 'request' && message.params !== undefined ? message.params : assert.fail()
}
