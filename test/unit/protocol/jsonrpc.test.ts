import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  encodeError,
  encodeNotification,
  encodeRequest,
  encodeResult,
  parseMessage,
  parseServerMessage,
} from '../../../src/protocol/jsonrpc.ts'
import { editObject } from '../../../src/protocol/json/json-members.ts'

function parse(text: string): ReturnType<typeof parseMessage> {
  return parseMessage(Buffer.from(text))
}

function codeOf(text: string): number | undefined {
  const message = parse(text)
  return message.kind === 'malformed' ? message.error.code : undefined
}

describe('the strict envelope', () => {
  test('keeps the type of an id: 1 is not "1"', () => {
    assert.deepEqual(parse('{"jsonrpc":"2.0","id":1,"method":"ping"}'), {
      kind: 'request',
      id: 1,
      method: 'ping',
      params: undefined,
      bytes: 40,
    })
    assert.deepEqual(parse('{"jsonrpc":"2.0","id":"1","method":"ping"}'), {
      kind: 'request',
      id: '1',
      method: 'ping',
      params: undefined,
      bytes: 42,
    })
  })

  test('reads each method, whatever the message before it called', () => {
    const methods = ['ping', 'ping', 'pink', 'tools\\/call', 'tools/call', 'ping', 'x'.repeat(200), 'é']
    const read = methods.map(method => parse(`{"jsonrpc":"2.0","id":1,"method":"${method}"}`))
    assert.deepEqual(
      read.map(message => (message.kind === 'request' ? message.method : undefined)),
      methods.map(method => JSON.parse(`"${method}"`) as unknown),
    )
    assert.equal(codeOf('{"jsonrpc":"2.0","id":1,"method":7}'), -32600)
  })

  test('refuses an id that is null, an object or a boolean', () => {
    for (const id of ['null', '{}', 'true', '[1]'])
      assert.equal(codeOf(`{"jsonrpc":"2.0","id":${id},"method":"x"}`), -32600)
  })

  test('takes the last of two members with one name, and sends only that one on', () => {
    const text = '{"jsonrpc":"2.0","id":1,"method":"a","method":"b","params":{"name":"x","n\\u0061me":"y"}}'
    const message = parse(text)
    assert.ok(message.kind === 'request' && message.method === 'b')
    assert.equal(
      encodeRequest(1, message.method, message.params, message.params),
      '{"jsonrpc":"2.0","id":1,"method":"b","params":{"name":"y"}}',
    )
  })

  test('refuses another version, a batch, params that are no object', () => {
    assert.equal(codeOf('{"jsonrpc":"1.0","id":1,"method":"a"}'), -32600)
    assert.equal(codeOf('{"id":1,"method":"a"}'), -32600)
    assert.equal(codeOf('[]'), -32600)
    assert.equal(codeOf('{"jsonrpc":"2.0","id":1,"method":"a","params":[1]}'), -32600)
  })

  test('takes __proto__ for a key like any other', () => {
    const message = parse('{"jsonrpc":"2.0","id":1,"method":"a","params":{"__proto__":{"polluted":true}}}')
    assert.equal(message.kind, 'request')
    assert.equal(({} as { polluted?: boolean }).polluted, undefined)
    assert.ok(message.kind === 'request' && Object.hasOwn(message.params ?? {}, '__proto__'))
  })

  test('accepts what real servers send: extra members, id null on an error, a fractional id', () => {
    assert.equal(parse('{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"x"},"extra":1}').kind, 'response')
    assert.equal(parse('{"jsonrpc":"2.0","id":1.5,"result":{}}').kind, 'response')
  })

  test('reads resultType of a modern result only', () => {
    const text = Buffer.from(
      '{"jsonrpc":"2.0","id":1,"result":{"content":["resultType"],"resultType":"input_required"}}',
    )
    const modern = parseServerMessage(text, 'modern')
    const legacy = parseServerMessage(text, 'legacy')
    assert.equal(modern.kind === 'response' && modern.resultType, 'input_required')
    assert.equal(legacy.kind === 'response' && legacy.resultType, undefined)
  })
})

describe('any message', () => {
  const id = fc.oneof(fc.integer(), fc.string({ unit: 'grapheme' }))
  const json = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue({ maxDepth: 4 }))

  test('comes back from its own text', () => {
    fc.assert(
      fc.property(id, fc.string(), json, (id, method, params) => {
        const expected = JSON.parse(JSON.stringify(params)) as object
        const text = encodeRequest(id, method, params)
        assert.deepEqual(parse(text), {
          kind: 'request',
          id,
          method,
          params: expected,
          bytes: Buffer.byteLength(text),
        })
        assert.deepEqual(parse(encodeNotification(method, params)), {
          kind: 'notification',
          method,
          params: expected,
        })
        const response = parse(encodeResult(id, Buffer.from(JSON.stringify(params))).toString())
        assert.ok(response.kind === 'response' && response.id === id)
        assert.deepEqual(response.result?.value(), expected)
        assert.equal(parse(encodeError(id, { code: 1, message: method })).kind, 'response')
      }),
      { numRuns: 300 },
    )
  })

  test('is read, or refused with a code, whatever the bytes', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array(),
          fc.string().map(text => Buffer.from(text)),
        ),
        bytes => {
          const message = parseMessage(Buffer.from(bytes))
          assert.ok(message.kind !== 'malformed' || [-32700, -32600].includes(message.error.code))
        },
      ),
      { numRuns: 500 },
    )
  })

  test('keeps every member but the dropped ones when its result is edited', () => {
    fc.assert(
      fc.property(json, fc.boolean(), (value, spaced) => {
        const text = Buffer.from(JSON.stringify({ ...value, dropped: 1 }, null, spaced ? 2 : 0))
        const { dropped: _, ...kept } = { ...(JSON.parse(text.toString()) as object), dropped: 1 }
        const edited = JSON.parse(editObject(text, new Set(['dropped']), '"added":true').toString()) as object
        assert.deepEqual(edited, { ...kept, added: true })
      }),
      { numRuns: 300 },
    )
  })
})
