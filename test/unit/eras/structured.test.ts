import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { classifyRoot, toLegacyOutputSchema } from '../../../src/protocol/era/adapt-entry.ts'
import { toLegacyResult } from './whole.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { Payload } from '../../../src/protocol/payload.ts'
import { LATEST_LEGACY_VERSION, type Era } from '../../../src/protocol/methods.ts'

const STRUCTURED = ['2025-11-25', '2025-06-18']
const PLAIN = ['2025-03-26', '2024-11-05', '2024-10-07']
const ARRAY = { type: 'array', items: { type: 'number' } }

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

describe('the root of a schema', () => {
  test('of one that refers to itself ten times over is not searched for ever', () => {
    const again = Array.from({ length: 10 }, () => ({ $ref: '#' }))
    assert.equal(classifyRoot({ anyOf: again, allOf: again }), 'mixed')
  })
})

describe('an output schema goes to a legacy client', () => {
  const RECURSIVE = { type: 'array', items: { anyOf: [{ type: 'number' }, { $ref: '#' }] } }
  const MIXED = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $ref: '#/$defs/tree',
    $defs: {
      tree: {
        anyOf: [{ type: 'number' }, { type: 'object', additionalProperties: { $ref: '#/$defs/tree' } }],
      },
    },
  }

  test('with references that still lead to where they led', () => {
    assert.deepEqual((toLegacyOutputSchema(RECURSIVE)?.properties as JsonObject).result, {
      type: 'array',
      items: { anyOf: [{ type: 'number' }, { $ref: '#/properties/result' }] },
    })
  })

  const VALUES: readonly (readonly [string, JsonObject, readonly unknown[], readonly unknown[]])[] = [
    ['an array', ARRAY, [[], [1, 2]], [['a']]],
    ['an array of itself', RECURSIVE, [[1, [2, [3]]]], [[['a']]]],
    ['a tree', MIXED, [1, {}, { a: { b: 2 } }], ['x', { a: 'x' }, [1]]],
    ['object or null', { type: ['object', 'null'], required: ['a'] }, [null, { a: 1 }], [{}, 1]],
    ['object for sure', { oneOf: [{ type: 'object', required: ['a'] }] }, [{ a: 1 }], [{}]],
  ]
  for (const [name, schema, good, bad] of VALUES) {
    test(`and agrees with what goes out as the value: ${name}`, () => {
      const validate = new Ajv2020({ strict: false }).compile(toLegacyOutputSchema(schema) as JsonObject)
      const out = (value: unknown): unknown =>
        sent({ content: [], structuredContent: value }, LATEST_LEGACY_VERSION).structuredContent
      for (const value of good) assert.ok(validate(out(value)), JSON.stringify(value))
      for (const value of bad) assert.ok(!validate(out(value)), JSON.stringify(value))
      assert.equal(toLegacyOutputSchema(schema)?.type, 'object')
    })
  }
})
