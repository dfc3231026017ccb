import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { toLegacyResult } from './whole.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { Payload } from '../../../src/protocol/payload.ts'
import type { Era } from '../../../src/protocol/methods.ts'

const STRUCTURED = ['2025-11-25', '2025-06-18']
const PLAIN = ['2025-03-26', '2024-11-05', '2024-10-07']

function sent(result: JsonObject | string, version: string, era: Era = 'modern'): JsonObject {
  const bytes = Buffer.from(typeof result === 'string' ? result : JSON.stringify(result))
  return JSON.parse(toLegacyResult(Payload.fromBytes(bytes, era), 'tools/call', version).toString()) as JsonObject
}

describe('structured content of a modern server goes to a legacy client', () => {
  for (const version of STRUCTURED) {
    for (const value of [[1, 2], 'word', 7, true, false, null]) {
      test(`${JSON.stringify(value)} in a result of its own at ${version}, with a copy as text`, () => {
        assert.deepEqual(sent({ content: [], structuredContent: value }, version), {
          content: [{ type: 'text', text: JSON.stringify(value) }],
          structuredContent: { result: value },
        })
      })
    }

    test(`an object as it is at ${version}, copied nowhere`, () => {
      const result = { content: [], structuredContent: { a: [1] }, x: 1 }
      assert.deepEqual(sent(result, version), result)
    })
  }

  for (const version of PLAIN) {
    test(`not at all at ${version}, which has none; its text stands in`, () => {
      for (const value of [{ a: 1 }, [1], 'x', null]) {
        const copy = { content: [{ type: 'text', text: JSON.stringify(value) }] }
        assert.deepEqual(sent({ content: [], structuredContent: value }, version), copy)
        assert.deepEqual(sent({ structuredContent: value }, version), copy)
      }
      const content = [{ type: 'text', text: 'have' }]
      assert.deepEqual(sent({ content, structuredContent: { a: 1 }, isError: true }, version), {
        content,
        isError: true,
      })
    })
  }

  test('with every digit of its numbers', () => {
    const text = toLegacyResult(
      Payload.fromBytes(Buffer.from('{"content":[],"structuredContent":[12345678901234567890, 1.0]}'), 'modern'),
      'tools/call',
    ).toString()
    assert.match(text, /"structuredContent":\{"result":\[12345678901234567890, 1\.0\]\}/)
    assert.match(text, /"text":"\[12345678901234567890, 1\.0\]"/)
  })
})
