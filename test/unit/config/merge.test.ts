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
