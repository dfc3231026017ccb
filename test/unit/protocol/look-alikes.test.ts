import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseMessage } from '../../../src/protocol/jsonrpc.ts'

test('a message with such a parameter is refused, and named; deep in its arguments it is the tool’s', () => {
  const read = (params: string): ReturnType<typeof parseMessage> =>
    parseMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`))
  const refused = read('{"name":"a","\\u004eame":"b"}')

  assert.ok(refused.kind === 'malformed' && refused.error.code === -32600)
  assert.match(refused.error.message, /"Name" in "params": may be mistaken for "name"/)
  assert.equal(read('{"name":"a","arguments":{"Name":"b","name":"c"}}').kind, 'request')
})
