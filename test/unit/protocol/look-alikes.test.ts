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

test('every spelling of a parameter in other cases is found where it stands, and other names are taken', () => {
  const known = [
    'name',
    'arguments',
    '_meta',
    'uri',
    'ref',
    'type',
    'argument',
    'cursor',
    'task',
    'taskId',
    'requestState',
    'inputResponses',
  ]
  const kindOf = (name: string): string =>
    parseMessage(Buffer.from(`{"jsonrpc":"2.0","method":"notifications/x","params":{"${name}":1}}`)).kind
  for (const name of known) {
    assert.equal(kindOf(name), 'notification', name)
    for (let at = 0; at < name.length; at++) {
      const letter = name.charAt(at)
      const other = letter === letter.toUpperCase() ? letter.toLowerCase() : letter.toUpperCase()
      if (other === letter) continue
      const changed = name.slice(0, at) + other + name.slice(at + 1)
      assert.equal(kindOf(changed), 'malformed', changed)
      const escaped = `\\u${other.charCodeAt(0).toString(16).padStart(4, '0')}`
      assert.equal(kindOf(name.slice(0, at) + escaped + name.slice(at + 1)), 'malformed', `${name} with an escape`)
    }
  }
  for (const name of [
    '',
    'progress',
    'progressToken',
    'message',
    'level',
    'data',
    'Level',
    'nam',
    'nm',
    'names',
    'näme',
    'Urx',
  ])
    assert.equal(kindOf(name), 'notification', name)
})
