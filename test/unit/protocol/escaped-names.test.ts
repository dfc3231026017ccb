import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toLegacyResult, toModernResult } from '../eras/whole.ts'
import { parseMessage, parseServerMessage } from '../../../src/protocol/jsonrpc.ts'
import { Payload } from '../../../src/protocol/payload.ts'

/** A name with its third character written as an escape. */
function escaped(name: string): string {
  return `${name.slice(0, 2)}\\u${name.charCodeAt(2).toString(16).padStart(4, '0')}${name.slice(3)}`
}

test('every member of the envelope is found however its name is written', () => {
  const text = (id: string, method: string, params: string): string =>
    `{"${escaped('jsonrpc')}":"2.0","${id}":1,"${method}":"tools/call","${params}":{"${escaped('name')}":"x"}}`
  const message = parseMessage(Buffer.from(text('\\u0069d', escaped('method'), escaped('params'))))
  assert.ok(message.kind === 'request' && message.id === 1 && message.method === 'tools/call')
  assert.equal(message.params?.name, 'x')
})

test('what a legacy server says of the type of its result does not reach a modern client', () => {
  for (const name of ['resultType', 'result\\u0054ype']) {
    const payload = Payload.fromBytes(Buffer.from(`{"${name}":"input_required","requestState":"x"}`), 'legacy')
    const { resultType } = JSON.parse(toModernResult(payload, 'tools/call').toString()) as {
      resultType: unknown
    }
    assert.equal(resultType, 'complete')
  }
})

test('members of the modern era are taken out for a legacy client however they are written', () => {
  const payload = Payload.fromBytes(
    Buffer.from('{"result\\u0054ype":"complete","ttl\\u004ds":5,"content":[]}'),
    'modern',
  )
  assert.equal(toLegacyResult(payload, 'tools/call').toString(), '{"content":[]}')
})

test('a result may hold an object that has a name twice: its bytes pass', () => {
  const result = '{"content":[],"structuredContent":{"a":1,"a":2}}'
  const message = parseServerMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`))
  assert.equal(message.kind === 'response' && message.result?.bytes().toString(), result)
})
