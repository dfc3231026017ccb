import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cutJson, readJson, shapeResult } from '../../../../plugins/shape/shape-result.ts'
import { parseDropPath, removePath, compilePick } from '../../../../plugins/shape/shaping-rules.ts'
import { Payload } from '../../../../src/protocol/payload.ts'

const RULE = { pick: undefined, drop: [], maxBytes: 2000, ask: false, patienceMs: undefined, from: [] }
const PLAIN = { rule: RULE, requestedPick: undefined, schema: undefined, store: () => 'handle' }

function pickOf(text: string) {
  const compiled = compilePick(text)
  assert.ok('pick' in compiled)
  return compiled.pick
}

test('an expression that makes much of little is ended, and leaves nothing behind for the next one', () => {
  const doubling = pickOf(Array.from({ length: 60 }, () => '[@, @]').join(' | '))
  const found = doubling.run({ a: 1 })

  assert.match(String(found.failed), /timed out|too deeply|too large/)
  assert.deepEqual(pickOf('a').run({ a: 1 }), { json: '1' })
})

test('expressions that are too long, too deep or none are no expressions', () => {
  for (const text of ['a'.repeat(5000), '('.repeat(4000), 'a[', '', '[?', '\u0000'])
    assert.ok('mistake' in compilePick(text), text.slice(0, 20))
})

test('nothing of the language can be reached with an expression', () => {
  for (const text of ['constructor', '__proto__', 'a.constructor.constructor', 'toString', 'keys(__proto__)']) {
    const { json, failed } = pickOf(text).run({ a: {} }) as { json?: string; failed?: string }
    assert.match(String(json ?? failed), /^(null|\{\}|\[\]|.*rror.*|.*xpected.*)$/, text)
  }
})

test('a cut value is within its bytes, whatever it is made of', () => {
  const values = [
    { a: 'x'.repeat(9000), b: ['y'.repeat(9000)], c: 1 },
    Array.from({ length: 5000 }, (_, id) => ({ id })),
    Object.fromEntries(Array.from({ length: 5000 }, (_, id) => [`member ${id}`, id])),
    { ['\u2028'.repeat(100)]: '\u0000'.repeat(5000), '🙂': '🙂'.repeat(3000) },
    [[[['z'.repeat(9000)]]]],
  ]
  for (const value of values)
    for (const budget of [500, 1000, 5000]) {
      const cut = cutJson(value, budget, { dropsMembers: true })
      const text = JSON.stringify(cut.value)
      assert.ok(Buffer.byteLength(text) <= budget, `${text.slice(0, 40)} ${Buffer.byteLength(text)} ${budget}`)
      assert.ok(text.isWellFormed())
    }
})

test('what is nested a hundred thousand times is given on as a note, and kept whole', () => {
  const deep = `{"content":[{"type":"text","text":"a"}],"structuredContent":${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}}`
  const kept: number[] = []
  const shaped = shapeResult(Payload.fromBytes(Buffer.from(deep)), {
    ...PLAIN,
    store: page => {
      kept.push(page)
      return 'handle'
    },
  })

  assert.ok(shaped !== undefined && shaped.result.bytes().length < 2000)
  assert.match(shaped.result.bytes().toString(), /read_result/)
  assert.deepEqual(kept, [2000])
})

test('paths leave out what they name, and nothing is changed in place', () => {
  const value = { items: [{ a: 1, b: { x: 1, y: 2 } }, { b: { x: 3 } }, 4], 'odd.name': 1, keep: true }
  const before = structuredClone(value)
  const drop = (path: string) => {
    const steps = parseDropPath(path)
    assert.ok(typeof steps !== 'string', String(steps))
    return removePath(value, steps)
  }

  assert.deepEqual(drop('items[].b.x'), { ...value, items: [{ a: 1, b: { y: 2 } }, { b: {} }, 4] })
  assert.deepEqual(drop('"odd.name"'), { items: value.items, keep: true })
  assert.deepEqual(drop('items[].*.y'), { ...value, items: [{ a: 1, b: { x: 1 } }, { b: { x: 3 } }, 4] })
  assert.deepEqual(drop('nothing.here'), value)
  assert.deepEqual(drop('__proto__.x'), value)
  assert.deepEqual(value, before)
  for (const wrong of ['', 'a..b', 'a[', 'a[]', '.a', 'a.', '[0]']) {
    const steps = parseDropPath(wrong)
    assert.ok(typeof steps === 'string' || wrong === '', wrong)
  }
})

test('numbers are written as they were read', () => {
  for (const text of [
    '{"a":9007199254740993,"b":1.0e400,"c":[12345678901234567890.5],"d":1}',
    '9007199254740993',
    String.raw`{"say \"9007199254740993\\":{"__proto__":[-9007199254740993,"1e400\\"]},"e":0.1234567890123456789}`,
  ])
    assert.equal(JSON.stringify(readJson(text)), text)
  for (const text of ['{9007199254740993:1}', '[9007199254740993-1]', '"9007199254740993', '[9007199254740993'])
    assert.equal(readJson(text), undefined)
})
