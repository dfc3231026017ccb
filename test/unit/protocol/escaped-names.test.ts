import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toLegacyResult, toModernResult } from '../eras/whole.ts'
import { parseMessage } from '../../../src/protocol/jsonrpc.ts'
import { Payload } from '../../../src/protocol/payload.ts'

/** A name with its third character written as an escape. */
function escaped(name: string): string {
  return `${name.slice(0, 2)}\\u${name.charCodeAt(2).toString(16).padStart(4, '0')}${name.slice(3)}`
}

test('a result type is found however its name is written', () => {
  for (const name of ['result\\u0054ype', escaped('resultType'), '\\u0072\\u0065sultType']) {
    const text = `{"jsonrpc":"2.0","id":1,"result":{"content":[],"${name}":"input_required"}}`
    const message = parseMessage(Buffer.from(text), 'modern')
    assert.equal(message.kind === 'response' && message.resultType, 'input_required', name)
  }
})

test('a result that says its type twice is refused, also with escapes', () => {
  for (const second of ['resultType', 'result\\u0054ype']) {
    const text = `{"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","${second}":"complete"}}`
    assert.equal(parseMessage(Buffer.from(text), 'modern').kind, 'malformed')
  }
})

test('every member of the envelope is found however its name is written', () => {
  const text = (id: string, method: string, params: string): string =>
    `{"${escaped('jsonrpc')}":"2.0","${id}":1,"${method}":"tools/call","${params}":{"${escaped('name')}":"x"}}`
  const message = parseMessage(Buffer.from(text('\\u0069d', escaped('method'), escaped('params'))))
  assert.ok(message.kind === 'request' && message.id === 1 && message.method === 'tools/call')
  assert.equal(message.params?.name, 'x')
})

test('a tool that failed has failed however isError is written', () => {
  const failed = (name: string): boolean =>
    Payload.raw(Buffer.from(`{"content":[],"${name}":true}`)).isToolError
  assert.equal(failed('isError'), true)
  assert.equal(failed('is\\u0045rror'), true)
  assert.equal(Payload.raw(Buffer.from('{"content":"\\u001b","isError":false}')).isToolError, false)
  assert.equal(Payload.raw(Buffer.from('{"content":[{"isError":true}]}')).isToolError, false)
})

test('what a legacy server says of the type of its result does not reach a modern client', () => {
  for (const name of ['resultType', 'result\\u0054ype']) {
    const payload = Payload.raw(Buffer.from(`{"${name}":"input_required","requestState":"x"}`), 'legacy')
    const { resultType } = JSON.parse(toModernResult(payload, 'tools/call').toString()) as {
      resultType: unknown
    }
    assert.equal(resultType, 'complete')
  }
})

test('members of the modern era are taken out for a legacy client however they are written', () => {
  const payload = Payload.raw(
    Buffer.from('{"result\\u0054ype":"complete","ttl\\u004ds":5,"content":[]}'),
    'modern',
  )
  assert.equal(toLegacyResult(payload, 'tools/call').toString(), '{"content":[]}')
})

test('a name twice in params is refused at every depth, however it is written', () => {
  const call = (params: string): string => `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`
  const many = Array.from({ length: 40 }, (_, index) => `"k${index}":0`).join()
  for (const params of [
    '{"name":"a","name":"b"}',
    '{"name":"a","n\\u0061me":"b"}',
    '{"n\\u0061me":"a","name":"b"}',
    '{"name":"x","arguments":{"path":"/ok","path":"/etc/shadow"}}',
    '{"name":"x","arguments":{"list":[{"é":1,"\\u00e9":2}]}}',
    '{"name":"x","arguments":{"\\ud800":1,"\\udc00":2}}',
    '{"name":"x","arguments":{"a":{"a":{"a":1}},"a":2}}',
    '{"name":"x","arguments":{"a":{"b":1,"c":[{"d":1}]},"b":{"a":1},"\\u0061":2}}',
    '{"name":"x","arguments":[{"a":1},{"b":{"c":1},"b":2}]}',
    `{"name":"x","arguments":{${many},"k7":1}}`,
    `{"name":"x","arguments":{${many},"k\\u0037":1}}`,
    '{"name":"x","_meta":{"progressToken":1,"progressToken":2}}',
  ]) {
    const message = parseMessage(Buffer.from(call(params)))
    assert.equal(message.kind === 'malformed' && message.error.code, -32600, params)
  }
  for (const params of [
    '{"name":"a","arguments":{"name":"a","x":{"name":1}}}',
    `{"a":{${many}},"b":{${many}}}`,
    '{"name":"a","arguments":{"a":{"a":{"a":[{"a":1},{"a":1}]}},"b":{"a":{"b":1}}}}',
  ])
    assert.equal(parseMessage(Buffer.from(call(params))).kind, 'request', params)
})

test('a result may hold an object that has a name twice: its bytes pass', () => {
  const result = '{"content":[],"structuredContent":{"a":1,"a":2}}'
  const message = parseMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`))
  assert.equal(message.kind === 'response' && message.result?.bytes().toString(), result)
})

test('a name twice among thousands is found, however deep and however it is written, and nothing else is', () => {
  const names = Array.from({ length: 3000 }, (_, n) => `"name ${n % 7} ${n}":0`)
  const inner = `{${names.join()}}`
  const wrong = [
    `{${names.join()},"name 1 1":0}`,
    `{${names.join()},"name 1 \\u0031":0}`,
    `{${names.slice(0, 1500).join()},"na\\u006de 0 7":0,${names.slice(1500).join()}}`,
    `{"a":${inner},${names.join()},"b":${inner},"name 3 2999":0}`,
  ]
  const right = [
    inner,
    `{"a":${inner},${names.join()},"b":${inner}}`,
    `{${names.slice(0, 1500).join()},"an\\u006fther":${inner},${names.slice(1500).join()}}`,
  ]

  for (const [texts, kind] of [
    [wrong, 'malformed'],
    [right, 'request'],
  ] as const)
    for (const text of texts) {
      const message = parseMessage(
        Buffer.from(
          `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":${text}}}`,
        ),
      )
      assert.equal(message.kind, kind, text.slice(0, 60))
    }
})
