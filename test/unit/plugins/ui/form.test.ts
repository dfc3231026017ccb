import assert from 'node:assert/strict'
import { test } from 'node:test'
import { listFields, readForm } from '../../../../plugins/ui/page/fields.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'

const object = (properties: JsonObject, required: readonly string[] = []): JsonObject => ({
  ...{ type: 'object', properties, required },
})

test('plain values have fields, and all other members are one JSON text', () => {
  const schema = object({
    text: { type: 'string' },
    day: { type: 'string', format: 'date' },
    count: { type: 'integer', minimum: 1, maximum: 9 },
    flag: { type: 'boolean' },
    one: { enum: ['a', 2, null] },
    titled: { oneOf: [{ const: 'x', title: 'First' }, { const: 'y' }] },
    maybe: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    nullable: { type: ['string', 'null'] },
    lines: { type: 'array', items: { type: 'string' } },
    inner: object({ deep: { type: 'string' } }),
    either: { oneOf: [object({}), { type: 'number' }] },
    other: { $ref: '#/$defs/other' },
    anything: {},
  })
  const { fields, otherNames: others } = listFields(schema)
  assert.deepEqual(
    fields.map(({ name, type, options }) => [name, options?.map(([, title]) => title) ?? type]),
    [
      ['text', 'string'],
      ['day', 'string'],
      ['count', 'integer'],
      ['flag', ['true', 'false']],
      ['one', ['a', '2', 'null']],
      ['titled', ['First', 'y']],
      ['maybe', 'integer'],
      ['nullable', 'string'],
    ],
  )
  assert.deepEqual(others, ['lines', 'inner', 'either', 'other', 'anything'])
})

test('an empty field is left out, unless it is required or has a default', () => {
  const schema = object(
    {
      ...{ text: { type: 'string' }, size: { type: 'integer', default: 5 }, note: { type: 'string' } },
      list: { type: 'array', default: [1] },
    },
    ['text'],
  )
  assert.deepEqual(readForm(schema, { fields: {} }), { text: '', size: 5, list: [1] })
  assert.deepEqual(readForm(schema, { fields: { size: '' }, json: '' }), { text: '' })
})

test('a value that the schema does not take is named with its field', () => {
  const schema = object({ a: { type: 'integer' }, b: { type: 'number', title: 'Name' }, c: { enum: [1] }, d: {} }, [
    'b',
  ])
  const fields = { b: '1' }
  const refused = (changes: Record<string, string>, json?: string): string => {
    try {
      readForm(schema, { fields: { ...fields, ...changes }, ...(json === undefined ? {} : { json }) })
      return ''
    } catch (error) {
      return (error as Error).message
    }
  }
  assert.equal(refused({ a: '1.5' }), '“a” is not an integer: 1.5')
  assert.equal(refused({ b: '' }), '“Name” is required')
  assert.equal(refused({ c: '2' }), '“c” is required')
  for (const json of ['[1]', '{', '5']) assert.equal(refused({}, json), 'the arguments are not a JSON object')
})

test('any schema of a server makes a form', () => {
  const loop: Record<string, unknown> = {}
  loop.allOf = [loop]
  const odd = [
    ...[undefined, null, true, 5, 'x', [], {}, { properties: 5 }, { type: 7 }, loop],
    { properties: { __proto__: 5, constructor: { type: 'string' } } },
    { properties: { a: { anyOf: [5, null] }, b: null, c: { type: ['string', 'integer'] }, d: { enum: [] } } },
  ]
  for (const schema of odd) assert.equal(typeof readForm(schema as JsonObject, { fields: {} }), 'object', typeof schema)
})
