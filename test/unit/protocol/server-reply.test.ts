import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parseServerMessage } from '../../../src/protocol/jsonrpc.ts'
import type { RpcMessage } from '../../../src/protocol/jsonrpc.ts'
import { isParsed } from './json-verdict.ts'

const LONG = 'x'.repeat(5000)

function parse(text: string): RpcMessage {
  return parseServerMessage(Buffer.from(text))
}

function resultOf(text: string): string | undefined {
  const message = parse(text)
  return message.kind === 'response' ? message.result?.bytes().toString() : undefined
}

describe('a reply', () => {
  test('keeps the bytes of its result, with its members in any order and any white space', () => {
    for (const text of [
      '{ "a" : [1, 1.0, "x\\"}" , {}] }',
      '{}',
      `{"a":1e2,"text":"${LONG}"}`,
      '{"id":1,"jsonrpc":"2.0"}',
    ]) {
      const members = ['"jsonrpc" : "2.0"', '"id":7', `"result":\n${text}`]
      for (const [a, b, c] of [
        [0, 1, 2],
        [0, 2, 1],
        [1, 0, 2],
        [1, 2, 0],
        [2, 0, 1],
        [2, 1, 0],
      ] as const) {
        const message = parse(` {${String(members[a])} ,${String(members[b])}, ${String(members[c])}}\n`)
        assert.ok(message.kind === 'response' && message.id === 7)
        assert.equal(message.result?.bytes().toString(), text)
      }
    }
  })

  test('is read as JSON.parse reads it, whatever was done to its text', () => {
    const scrap = fc.constantFrom(
      '"',
      '\\',
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '0',
      '1',
      '-',
      '.',
      'e',
      'null',
      '"id":2,',
      '',
    )
    const edit = fc.tuple(fc.nat(), fc.nat({ max: 3 }), scrap)
    const result = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 }))
    const property = fc.property(result, fc.boolean(), fc.array(edit, { maxLength: 2 }), (value, isLong, edits) => {
      const parts = ['"jsonrpc":"2.0"', '"id":1', `"result":${JSON.stringify(isLong ? { ...value, LONG } : value)}`]
      let text = `{${(edits.length === 1 ? parts : parts.reverse()).join(',')}}`
      for (const [place, length, put] of edits) {
        const at = place % (text.length + 1)
        text = text.slice(0, at) + put + text.slice(at + length)
      }
      const message = parse(text)
      if (message.kind !== 'response' || message.result === undefined) return
      assert.ok(isParsed(text), text)
      const { id, result: expected } = JSON.parse(text) as { id: unknown; result: object }
      assert.deepEqual(JSON.parse(message.result.bytes().toString()), expected, text)
      assert.deepEqual(message.result.value(), expected)
      assert.equal(message.id, typeof id === 'string' || typeof id === 'number' ? id : null)
    })
    fc.assert(property, { numRuns: 5000 })
  })

  test('that has a member twice has the last of them, and only that is sent on', () => {
    assert.equal(resultOf('{"jsonrpc":"2.0","id":1,"result":{},"result":{"a":1.0}}'), '{"a":1.0}')
    assert.equal(resultOf('{"jsonrpc":"2.0","id":1,"result":{},"\\u0072esult":{"a":1}}'), '{"a":1}')
    const message = parse('{"id":1,"jsonrpc":"2.0","result":{},"id":2}')
    assert.equal(message.kind === 'response' && message.id, 2)
  })

  test('is refused if it is no JSON, nests deeper than 64 levels, or has more than a million names and values', () => {
    const wrap = (result: string): string => `{"jsonrpc":"2.0","id":1,"result":{"a":${result}}}`
    const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)
    const wrong = [
      '01',
      '1.',
      'NaN',
      "'a'",
      '"\\x41"',
      '"\t"',
      '[1,]',
      '{"a":1,}',
      '',
      deep(63),
      `["${LONG}",${deep(62)}]`,
    ]
    const many = `[${'0,'.repeat(1_000_000)}0]`
    for (const result of [...wrong, `["${LONG}\t"]`, many, '['.repeat(100_000)])
      assert.equal(parse(wrap(result)).kind, 'malformed', result.slice(0, 50))
    for (const result of [deep(62), `["${LONG}",${deep(61)}]`, `[${'0,'.repeat(900_000)}0]`])
      assert.equal(parse(wrap(result)).kind, 'response', result.slice(0, 50))
  })

  test('knows a failed tool and a result type whether it is long or short', () => {
    for (const text of ['', LONG]) {
      const members = `"content":[],"text":"${text}"`
      const read = (more: string): RpcMessage =>
        parseServerMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{${members}${more}}}`), 'modern')
      const failed = read(',"is\\u0045rror":true,"resultType":"complete"')
      assert.ok(failed.kind === 'response' && failed.result?.isToolError === true)
      assert.equal(failed.resultType, 'complete')
      const plain = read(',"isError":false')
      assert.ok(plain.kind === 'response' && plain.result?.isToolError === false)
      assert.equal(plain.resultType, undefined)
    }
  })
})
