import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fitSchema } from '../../../../plugins/fit/fit-schema.ts'
import type { Dialect } from '../../../../plugins/fit/client-profiles.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { refusedBy } from './limits.ts'

const DIALECTS: readonly Dialect[] = ['common', 'gemini']

function fitted(schema: unknown, dialect: Dialect): JsonObject {
  const made = fitSchema(schema, dialect)
  if ('unfit' in made) assert.fail(made.unfit)
  return made.schema
}

/** Schemas that servers really list and that some API refuses, and some that nobody should. */
const HARD: Readonly<Record<string, JsonObject>> = {
  'one of two objects': {
    oneOf: [
      { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
      { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    ],
  },
  'one or the other is required': {
    type: 'object',
    properties: { a: { type: 'string' }, b: { type: 'string' } },
    anyOf: [{ required: ['a'] }, { required: ['b'] }],
  },
  'all of two': {
    allOf: [
      { type: 'object', properties: { a: { type: 'string', minLength: 1 } } },
      { type: 'object', properties: { a: { maxLength: 5 }, b: { type: 'number' } }, required: ['b'] },
    ],
  },
  'a reference at the root': {
    $ref: '#/$defs/Args',
    $defs: { Args: { type: 'object', properties: { a: { type: 'string' } } } },
  },
  'a definition that holds itself': {
    type: 'object',
    properties: { tree: { $ref: '#/$defs/Node' } },
    $defs: {
      Node: {
        type: 'object',
        properties: {
          name: { type: 'string' },
          children: { type: 'array', items: { $ref: '#/$defs/Node' } },
        },
      },
    },
  },
  'a reference that leads nowhere': { type: 'object', properties: { a: { $ref: '#/$defs/Lost' } } },
  'a reference to somebody else': {
    type: 'object',
    properties: { a: { $ref: 'https://example.com/a.json' } },
  },
  'a reference into a prototype': { type: 'object', properties: { a: { $ref: '#/__proto__' } } },
  'a property called __proto__': JSON.parse(
    '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{"type":"string"}}}',
  ) as JsonObject,
  'no type at all': {},
  'several types': { type: ['object', 'null'], properties: { a: { type: ['string', 'number', 'null'] } } },
  'values of all types': {
    type: 'object',
    properties: { a: { enum: ['x', 1, null, true] }, b: { const: 7 } },
  },
  'an empty text among values': { type: 'object', properties: { a: { type: 'string', enum: ['', 'x'] } } },
  'lists of nothing': {
    type: 'object',
    properties: { a: { type: 'array' }, b: { type: ['array', 'null'] } },
  },
  'limits of draft 4': {
    type: 'object',
    properties: {
      a: { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 9, exclusiveMaximum: false },
    },
  },
  'schemas that are none': { type: 'object', properties: { a: 'string', b: true, c: false, d: null, e: [] } },
  'keywords that are none': {
    type: 'object',
    properties: 7,
    required: 'x',
    $defs: 3,
    anyOf: 'no',
    allOf: {},
  },
  formats: {
    type: 'object',
    properties: { a: { type: 'string', format: 'uri' }, b: { type: 'string', format: 'date-time' } },
  },
}

for (const [name, schema] of Object.entries(HARD))
  test(`every client is shown ${name} so that its API takes it, or is not shown it`, () => {
    for (const dialect of DIALECTS) {
      const made = fitSchema(schema, dialect)
      if ('unfit' in made) assert.match(made.unfit, /\w/)
      else assert.deepEqual(refusedBy(dialect, made.schema), [], `${dialect}: ${JSON.stringify(made.schema)}`)
    }
  })

test('parts that must all hold become one, with the stricter limits', () => {
  assert.deepEqual(fitted(HARD['all of two'], 'common'), {
    type: 'object',
    properties: { a: { type: 'string', minLength: 1, maxLength: 5 }, b: { type: 'number' } },
    required: ['b'],
  })
})

test('a definition that holds itself is written out once', () => {
  const node = {
    type: 'object',
    properties: { name: { type: 'string' }, children: { type: 'array', items: { type: 'object' } } },
  }
  assert.deepEqual(fitted(HARD['a definition that holds itself'], 'common'), {
    type: 'object',
    properties: { tree: node },
  })
})

test('a property called __proto__ stays a property, and changes no object', () => {
  for (const dialect of DIALECTS) {
    const { properties } = fitted(HARD['a property called __proto__'], dialect)
    assert.deepEqual(Object.keys(properties as JsonObject), ['__proto__', 'constructor'])
  }
  assert.equal(({} as { type?: unknown }).type, undefined)
})

test('a schema of a megabyte, and one a thousand levels deep, are given up', () => {
  const long = { type: 'object', properties: { a: { type: 'string', description: 'x'.repeat(1_000_000) } } }
  let deep: JsonObject = { type: 'string' }
  for (let n = 0; n < 1000; n++) deep = { type: 'object', properties: { a: deep } }
  for (const dialect of DIALECTS) {
    for (const schema of [long, deep]) assert.ok('unfit' in fitSchema(schema, dialect), dialect)
  }
})

test('a required property of a name that the model refuses takes its tool away, an optional one only itself', () => {
  const properties = { 'a b': { type: 'string' }, c: { type: 'string' } }
  const optional = fitted({ type: 'object', properties, required: ['c'] }, 'common')
  const required = fitSchema({ type: 'object', properties, required: ['a b'] }, 'common')

  assert.deepEqual(optional, { type: 'object', properties: { c: { type: 'string' } }, required: ['c'] })
  assert.match('unfit' in required ? required.unfit : '', /"a b" has a name that the model rejects/)
})

test('a schema of megabytes is not read, nor one with thousands of parts that would become one', () => {
  const part = (n: number): JsonObject => ({ properties: { [`p${n}`]: {} }, required: [`p${n}`] })
  const parts = Array.from({ length: 1000 }, (_, n) => part(n))
  const long = { type: 'object', properties: {}, $defs: { a: { description: 'x'.repeat(3_000_000) } } }

  for (const dialect of DIALECTS) {
    assert.match(JSON.stringify(fitSchema(long, dialect)), /unfit.*has \d+ characters/)
    assert.match(JSON.stringify(fitSchema({ type: 'object', allOf: parts }, dialect)), /unfit.*1001 parts/)
    assert.match(JSON.stringify(fitSchema({ oneOf: parts }, dialect)), /unfit.*1000 parts/)
    assert.ok('schema' in fitSchema({ type: 'object', allOf: parts.slice(0, 100) }, dialect))
  }
})
