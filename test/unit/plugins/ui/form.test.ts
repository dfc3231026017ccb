import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Field, fieldOf } from '../../../../plugins/ui/page/views/fields.ts'
import { filledIn, RAW } from '../../../../plugins/ui/page/views/filled-in.ts'

const object = (properties: object, more: object = {}): object => ({ type: 'object', properties, ...more })

function kindsOf(field: Field): unknown {
  const { kind } = field
  if (kind.is === 'group') return Object.fromEntries(kind.fields.map(one => [one.name, kindsOf(one)]))
  return kind.is === 'variants' ? kind.variants.map(kindsOf) : kind.is
}

test('each kind of schema has a field of its own', () => {
  const schema = object({
    text: { type: 'string' },
    day: { type: 'string', format: 'date' },
    count: { type: 'integer', minimum: 1, maximum: 9 },
    share: { type: 'number' },
    flag: { type: 'boolean' },
    one: { enum: ['a', 2, null] },
    titled: { oneOf: [{ const: 'x', title: 'First' }, { const: 'y' }] },
    maybe: { anyOf: [{ type: 'integer' }, { type: 'null' }] },
    nullable: { type: ['string', 'null'] },
    lines: { type: 'array', items: { type: 'string' } },
    many: { type: 'array', items: { type: 'string', enum: ['a', 'b'] } },
    rows: { type: 'array', items: object({ a: {} }) },
    inner: object({ deep: { type: 'string' } }),
    either: { oneOf: [object({ a: { type: 'string' } }), { type: 'number' }] },
    anything: {},
  })
  assert.deepEqual(kindsOf(fieldOf(schema)), {
    ...{ text: 'text', day: 'text', count: 'number', share: 'number', flag: 'choice', one: 'choice' },
    ...{ titled: 'choice', maybe: 'number', nullable: 'text', lines: 'lines', many: 'choice', rows: 'json' },
    ...{ inner: { deep: 'text' }, either: [{ a: 'text' }, 'number'], anything: 'json' },
  })
})

test('texts become the values that the schema wants', () => {
  const schema = object({
    ...{ text: { type: 'string' }, count: { type: 'integer' }, flag: { type: 'boolean' } },
    ...{ one: { enum: ['a', 2] }, lines: { type: 'array', items: { type: 'integer' } } },
    ...{ many: { type: 'array', items: { enum: ['a', 'b'] } }, anything: {}, list: { type: 'array' } },
    inner: object({ 'a/b': { type: 'string' } }),
  })
  const values = {
    ...{
      '/text': ' 1 ',
      '/count': '3',
      '/flag': 'false',
      '/one': '2',
      '/lines': '1\n\n2\n',
      '/many': '["b"]',
    },
    ...{ '/anything': 'no JSON', '/list': '[{"x":1}]', '/inner/a~1b': 'deep' },
  }
  assert.deepEqual(filledIn(schema, values), {
    ...{ text: ' 1 ', count: 3, flag: false, one: 2, lines: [1, 2], many: ['b'], anything: 'no JSON' },
    ...{ list: [{ x: 1 }], inner: { 'a/b': 'deep' } },
  })
})

test('what nobody fills in is left out, and defaults and what is required are there', () => {
  const schema = object(
    {
      ...{ text: { type: 'string' }, size: { type: 'integer', default: 5 }, note: { type: 'string' } },
      inner: object({ must: { type: 'integer' } }, { required: ['must'] }),
    },
    { required: ['text'] },
  )
  assert.deepEqual(filledIn(schema, {}), { text: '', size: 5 })
  assert.deepEqual(filledIn(schema, { '/size': '' }), { text: '' })
  assert.equal(filledIn(object({ a: { type: 'integer' } }, { required: ['a'] }), {}), '“a” is needed')
  const short = object({ a: { type: 'string', minLength: 1, title: 'Name' } }, { required: ['a'] })
  assert.equal(filledIn(short, {}), '“Name” is needed')
})

test('a value that the schema does not take is said with its field', () => {
  const schema = object({ a: { type: 'integer' }, b: { type: 'array', items: {} }, c: { type: 'number' } })
  assert.equal(filledIn(schema, { '/a': '1.5' }), '“a” is no whole number: 1.5')
  assert.equal(filledIn(schema, { '/b': '[1' }), '“b” is no JSON')
  assert.equal(filledIn(schema, { '/c': 'x' }), '“c” is no number: x')
})

test('the variant that is chosen is what is sent', () => {
  const card = object(
    { kind: { const: 'card' }, number: { type: 'string' } },
    { required: ['kind', 'number'] },
  )
  const cash = object({ kind: { const: 'cash' } }, { required: ['kind'] })
  const schema = object({ pay: { oneOf: [card, cash] } }, { required: ['pay'] })
  assert.deepEqual(filledIn(schema, { '/pay': '0', '/pay/0~/number': '42' }), {
    pay: { kind: 'card', number: '42' },
  })
  assert.deepEqual(filledIn(schema, { '/pay': '1' }), { pay: { kind: 'cash' } })
  const { kind } = fieldOf(schema)
  const titles =
    kind.is === 'group'
      ? kind.fields.flatMap(one => (one.kind.is === 'variants' ? one.kind.variants : []))
      : []
  assert.deepEqual(
    titles.map(({ title }) => title),
    ['kind: card', 'kind: cash'],
  )
})

test('schemas refer to others, and one that names itself ends as JSON', () => {
  const tree = object({ name: { type: 'string' }, child: { $ref: '#/$defs/tree' } })
  const schema = {
    ...object({ top: { $ref: '#/$defs/tree' }, gone: { $ref: '#/$defs/none' } }),
    $defs: { tree },
  }
  assert.deepEqual(filledIn(schema, { '/top/child/name': 'x' }), { top: { child: { name: 'x' } } })
  assert.ok(JSON.stringify(kindsOf(fieldOf(schema))).includes('"json"'))
  const all = {
    allOf: [object({ a: { type: 'integer' } }), object({ b: { type: 'string' } }, { required: ['b'] })],
  }
  assert.deepEqual(filledIn(all, { '/a': '1', '/b': 'x' }), { a: 1, b: 'x' })
})

test('whatever a server calls its schema makes a form', () => {
  const loop: Record<string, unknown> = {}
  loop.allOf = [{ $ref: '#' }]
  const odd = [
    undefined,
    null,
    true,
    5,
    'x',
    [],
    {},
    { type: 'object' },
    { properties: 5 },
    { type: 7 },
    loop,
  ]
  odd.push(
    { properties: { __proto__: 5, constructor: { type: 'string' } } },
    { oneOf: [5, null] },
    { enum: [] },
  )
  odd.push(
    { properties: { a: { $ref: '#/__proto__' } } },
    { properties: { a: { type: ['string', 'integer'] } } },
  )
  for (const schema of odd) assert.equal(typeof filledIn(schema, {}), 'object', JSON.stringify(schema))
})

test('a schema that is made to be endless makes a form all the same', () => {
  const wide = { ...object({}), allOf: Array.from({ length: 50 }, () => ({ $ref: '#' })) }
  const names = Array.from({ length: 50 }, (_, i) => [`p${i}`, { $ref: '#' }])
  const deep = object(Object.fromEntries(names) as object)
  for (const schema of [wide, deep]) assert.equal(typeof filledIn(schema, {}), 'object')
  const parts = (field: Field): number =>
    1 + (field.kind.is === 'group' ? field.kind.fields.reduce((sum, one) => sum + parts(one), 0) : 0)
  assert.ok(parts(fieldOf(deep)) < 5000)
})

test('arguments that somebody writes as JSON are taken as they are', () => {
  const schema = object({ a: { type: 'integer' } })
  assert.deepEqual(filledIn(schema, { [RAW]: '{"b": [1]}' }), { b: [1] })
  assert.equal(filledIn(schema, { [RAW]: '[1]' }), 'the arguments are no JSON object')
  assert.equal(filledIn(schema, { [RAW]: '{' }), 'the arguments are no JSON object')
})

/** Numbers that JavaScript would write otherwise. */
const LARGE = '9007199254740993'
const numbers = object({
  whole: { type: 'integer' },
  part: { type: 'number' },
  lines: { type: 'array', items: { type: 'integer' } },
  list: { type: 'array' },
  anything: {},
})

test('numbers are sent with the digits that somebody typed', () => {
  const values = {
    ...{ '/whole': ` ${LARGE} `, '/part': '0.10', '/lines': `1\n${LARGE}` },
    ...{ '/list': `[${LARGE},{"deep":-${LARGE}.5}]`, '/anything': LARGE },
  }
  assert.equal(
    JSON.stringify(filledIn(numbers, values)),
    `{"whole":${LARGE},"part":0.10,"lines":[1,${LARGE}],"list":[${LARGE},{"deep":-${LARGE}.5}],"anything":${LARGE}}`,
  )
  assert.equal(JSON.stringify(filledIn(numbers, { [RAW]: `{"id": ${LARGE}}` })), `{"id":${LARGE}}`)
  assert.equal(filledIn(numbers, { [RAW]: LARGE }), 'the arguments are no JSON object')
})

test('a browser that cannot send a number as it was typed says so, and sends all others', t => {
  const parse = JSON.parse as (text: string, reviver?: (key: string, value: unknown) => unknown) => unknown
  t.mock.property(JSON as never, 'rawJSON' as never, undefined)
  t.mock.method(JSON, 'parse', (text: string, reviver?: (key: string, value: unknown) => unknown) =>
    parse(text, reviver && ((key, value) => reviver(key, value))),
  )
  const wrong = { '/whole': LARGE, '/list': `[${LARGE}]`, [RAW]: `{"id":${LARGE}}` }
  const right = { '/whole': '12', '/part': '0.10', '/list': `[1.50,"\\"${LARGE} is a text"]` }

  for (const [path, text] of Object.entries(wrong))
    assert.match(
      String(filledIn(numbers, { [path]: text })),
      /this browser (?:would|may) send .*9007199254740993/,
    )
  assert.deepEqual(filledIn(numbers, right), { whole: 12, part: 0.1, list: [1.5, `"${LARGE} is a text`] })
})
