import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parsePointer, pointerParent, appendPointer } from '../../../src/util/finding.ts'
import { parseDuration, parseSize } from '../../../src/util/units.ts'

test('durations and sizes are read with their units, or as plain numbers', () => {
  assert.deepEqual(
    ['250ms', '30s', '5m', '1h', '1d', 7, 0].map(parseDuration),
    [250, 30_000, 300_000, 3_600_000, 86_400_000, 7, 0],
  )
  assert.deepEqual(['5B', '64KiB', '4MiB', '1GiB', 9].map(parseSize), [5, 65_536, 4_194_304, 1_073_741_824, 9])
})

test('a duration is never longer than a timer can wait', () => {
  assert.equal(parseDuration('365d'), 2 ** 31 - 1)
})

test('what is no duration or size is refused', () => {
  for (const wrong of ['', 's', '5', '5x', '-5s', '1.5s', '5constructor', -1, 1.5, Number.NaN]) {
    assert.throws(() => parseDuration(wrong), RangeError)
    assert.throws(() => parseSize(wrong), RangeError)
  }
})

test('property: a pointer leads back to its keys', () => {
  fc.assert(
    fc.property(fc.array(fc.string()), keys => {
      const pointer = keys.reduce<string>(appendPointer, '')
      assert.deepEqual(parsePointer(pointer), keys)
      assert.equal(pointerParent(pointer), keys.slice(0, -1).reduce<string>(appendPointer, ''))
    }),
  )
})
