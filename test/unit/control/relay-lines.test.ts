import assert from 'node:assert/strict'
import { test } from 'node:test'
import { factsOf } from '../../../src/control/relay-lines.ts'
import { parseMessage } from '../../../src/protocol/jsonrpc.ts'

function facts(text: string): unknown {
  return factsOf(Buffer.from(text))
}

test('the envelope is read in any order, with space, and with brackets and quotes in strings', () => {
  assert.deepEqual(facts('{"jsonrpc":"2.0","id":1,"method":"ping"}'), { id: 1, method: 'ping' })
  assert.deepEqual(
    facts(' { "method" : "tools/call" , "params" : {"a":"}\\"]","b":[{"id":9}]} ,\t"id" : "x\\u0041" } '),
    { id: 'xA', method: 'tools/call' },
  )
  assert.deepEqual(facts('{"params":"\\\\","method":"m"}'), { method: 'm' })
  assert.deepEqual(facts('{"id":-7,"result":[]}'), { id: -7 })
})

test('an id inside of parameters is not the id of the message', () => {
  assert.deepEqual(facts('{"method":"m","params":{"id":5,"method":"other"}}'), { method: 'm' })
})

const BROKEN = [
  ...[
    '',
    ' ',
    '{',
    '{}',
    '[]',
    '"',
    '{"id"',
    '{"id":',
    '{"id":1',
    '{"id":1,',
    '{"id":1,}',
    '{1:2}',
    '{"id":"',
  ],
  ...[
    '{"id":"\\',
    '{"id":{}}',
    '{"id":null}',
    '{"method":1}',
    '{"method":{"a":',
    'null',
    '5',
    '{"id":1}}'.slice(0, 7),
  ],
]

test('what is no message has no facts, and reading it ends', () => {
  for (const text of BROKEN) assert.deepEqual(facts(text), {}, text)
})

test('a request that the gateway accepts is read as the gateway reads it', () => {
  const ids = ['1', '"a"', '"\\u00e9\\""', '0', '1e2']
  const params = ['', ',"params":{}', ',"params":{"uri":"a://b","deep":[[{"x":"]"}],"\\\\"]}']
  for (const id of ids)
    for (const extra of params) {
      const line = Buffer.from(`{"jsonrpc":"2.0","method":"resources/read"${extra},"id":${id}}`)
      const message = parseMessage(line)
      if (message.kind !== 'request') continue
      const { id: found, method } = factsOf(line)
      assert.deepEqual({ id: found, method }, { id: message.id, method: message.method })
    }
})
