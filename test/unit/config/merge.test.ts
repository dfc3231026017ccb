import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { locateValues, mergeTrees, createTree } from '../../../src/config/source/tree.ts'
import type { Tree } from '../../../src/config/source/tree.ts'

const tree = (value: unknown): Tree => createTree(value, { from: 'value' }) as Tree
const merge = (...values: unknown[]): unknown => locateValues(values.map(tree).reduce(mergeTrees)).value

const { config } = fc.letrec<{ value: unknown; config: Record<string, unknown> }>(tie => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, 1, 'x', true),
    fc.array(fc.integer(), { maxLength: 2 }),
    tie('config'),
  ),
  config: fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor'), tie('value'), {
    maxKeys: 3,
  }),
}))

test('maps merge, lists and scalars replace, null removes', () => {
  assert.deepEqual(merge({ a: { b: 1, c: [1, 2] } }, { a: { c: [3], d: 4 } }), { a: { b: 1, c: [3], d: 4 } })
  assert.deepEqual(merge({ a: { b: 1 }, c: 2 }, { a: null }), { c: 2 })
  assert.deepEqual(merge({ a: { b: 1 } }, { a: null }, { a: { c: 2 } }), { a: { c: 2 } })
  assert.deepEqual(merge({ a: [1] }, { a: { b: null, c: 1 } }), { a: { c: 1 } })
})

test('property: it does not matter which files are merged first', () => {
  fc.assert(
    fc.property(config, config, config, (a, b, c) => {
      const left = mergeTrees(mergeTrees(tree(a), tree(b)), tree(c))
      const right = mergeTrees(tree(a), mergeTrees(tree(b), tree(c)))
      assert.deepEqual(locateValues(left).value, locateValues(right).value)
    }),
  )
})

test('property: nothing over a config, a config over nothing, and a config over itself are that config', () => {
  fc.assert(
    fc.property(config, a => {
      assert.deepEqual(merge(a, {}), merge(a))
      assert.deepEqual(merge({}, a), merge(a))
      assert.deepEqual(merge(a, a), merge(a))
    }),
  )
})

test('property: what is merged stays as it was, and every value of the result has an origin', () => {
  fc.assert(
    fc.property(config, config, (a, b) => {
      const before = tree(a)
      const { value, origins } = locateValues(mergeTrees(before, tree(b)))

      assert.deepEqual(locateValues(before).value, merge(a))
      assert.equal(Object.getPrototypeOf(value), Object.prototype)
      for (const key of Object.keys(value as object)) assert.deepEqual(origins.get(`/${key}`), { from: 'value' })
    }),
  )
})
