import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { checkJson, MAX_TOKENS } from '../../../src/protocol/json/check.ts'
import { ScanError } from '../../../src/protocol/json/scan.ts'
import { isParsed } from './json-verdict.ts'

/** Counts the values of a list; undefined where it is refused. */
function countValues(elements: readonly string[]): number | undefined {
  try {
    return checkJson(Buffer.from(`[${elements.join(',')}]`)) - 1
  } catch (error) {
    assert.ok(error instanceof ScanError)
    return undefined
  }
}

/** The same, counted in each element alone, in which no others come before. */
function countOneByOne(elements: readonly string[]): number | undefined {
  if (!isParsed(`[${elements.join(',')}]`)) return undefined
  return elements.reduce((sum, element) => sum + (countValues([element]) ?? 0), 0)
}

const plain = fc.constantFrom<string>('0', '7', '10', '-5', '3.25', ' 2', '123456789012345')
const special = fc.constantFrom(
  ...[
    '-0',
    '-0.5',
    '1.50',
    '1.0',
    '1234567890123456',
    '-12345.6789012345',
    '1e5',
    '1E-7',
    '\n4',
    '  5',
    '6 ',
  ],
  ...['"text"', '[1,2]', '{"a":1}', 'null'],
)
const broken = fc.constantFrom('00', '01', '-', '1.', '.5', '+1', '', '6 6', '1e', '--1', '1.2.3')

test('what stands in a long list of numbers is found as in short ones', () => {
  const runs = fc.array(plain, { minLength: 200, maxLength: 400 })
  const rare = fc.array(special, { maxLength: 2 })
  const lists = fc.array(fc.tuple(runs, rare), { minLength: 1, maxLength: 3 }).map(parts => parts.flat(2))
  fc.assert(
    fc.property(lists, list => assert.deepEqual(countValues(list), countOneByOne(list))),
    { numRuns: 300 },
  )
})

test('a long list of numbers is refused where one is broken, wherever that stands', () => {
  const lists = fc.array(plain, { minLength: 150, maxLength: 300 })
  const property = fc.property(lists, broken, fc.nat(), (list, one, place) => {
    assert.equal(countValues(list.toSpliced(place % (list.length + 1), 0, one)), undefined)
  })
  fc.assert(property, { numRuns: 300 })
})

test('numbers are found over the ends of pieces, whatever their length', () => {
  for (const digits of [1, 2, 3, 7, 14, 15, 16, 60, 70]) {
    const list = Array.from({ length: 300_000 / (digits + 1) }, () => '7'.repeat(digits))
    assert.equal(countValues(list), list.length)
  }
})

test('a list has as many numbers as a message may have values, and not one more', () => {
  const most = Array.from({ length: MAX_TOKENS - 1 }, () => '1')
  assert.equal(countValues(most), most.length)
  assert.equal(countValues([...most, '1']), undefined)
})

test('numbers are found as in short lists where they stand behind and among many others', () => {
  const mixed = fc.array(fc.oneof(plain, special), { minLength: 100, maxLength: 300 })
  const runs = fc.array(plain, { minLength: 300, maxLength: 500 })
  fc.assert(
    fc.property(mixed, runs, mixed, (...parts) => {
      assert.deepEqual(countValues(parts.flat()), countOneByOne(parts.flat()))
    }),
    { numRuns: 200 },
  )
})
