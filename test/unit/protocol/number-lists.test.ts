import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { CARE, checkJson, MAX_TOKENS, type JsonReader } from '../../../src/protocol/json/check.ts'
import { found } from '../../../src/protocol/json/scalars.ts'
import { ScanError } from '../../../src/protocol/json/scan.ts'
import { isParsed } from './json-verdict.ts'

/** Reads members as those of arguments, whose names are looked at. */
const AS_ARGUMENTS: JsonReader = {
  enter: () => CARE.names,
  inner: () => undefined,
  member: () => undefined,
}

interface Verdict {
  readonly tokens: number
  readonly inexact: boolean
  readonly rewritten: boolean
}

/** Checks a list as one of arguments; undefined where it is refused. */
function verdictOf(elements: readonly string[]): Verdict | undefined {
  found.inexact = found.rewritten = false
  try {
    const tokens = checkJson(Buffer.from(`{"a":[${elements.join(',')}]}`), AS_ARGUMENTS)
    return { tokens: tokens - 2, inexact: found.inexact, rewritten: found.rewritten }
  } catch (error) {
    assert.ok(error instanceof ScanError)
    return undefined
  }
}

/** The same, found in each element alone, in which no others come before. */
function verdictOneByOne(elements: readonly string[]): Verdict | undefined {
  const all = elements.map(element => verdictOf([element]))
  if (!isParsed(`[${elements.join(',')}]`)) return undefined
  return {
    tokens: all.reduce((sum, one) => sum + (one?.tokens ?? 0), 0),
    inexact: all.some(one => one?.inexact === true),
    rewritten: all.some(one => one?.rewritten === true),
  }
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
    fc.property(lists, list => assert.deepEqual(verdictOf(list), verdictOneByOne(list))),
    { numRuns: 300 },
  )
})

test('a long list of numbers is refused where one is broken, wherever that stands', () => {
  const lists = fc.array(plain, { minLength: 150, maxLength: 300 })
  const property = fc.property(lists, broken, fc.nat(), (list, one, place) => {
    assert.equal(verdictOf(list.toSpliced(place % (list.length + 1), 0, one)), undefined)
  })
  fc.assert(property, { numRuns: 300 })
})

test('numbers are found over the ends of pieces, whatever their length', () => {
  for (const digits of [1, 2, 3, 7, 14, 15, 16, 60, 70]) {
    const list = Array.from({ length: 300_000 / (digits + 1) }, () => '7'.repeat(digits))
    const rewritten = [...list, '2.0']
    assert.deepEqual(verdictOf(list), { tokens: list.length, inexact: digits > 15, rewritten: false })
    assert.deepEqual(verdictOf(rewritten), {
      tokens: rewritten.length,
      inexact: digits > 15,
      rewritten: true,
    })
  }
})

test('a list has as many numbers as a message may have values, and not one more', () => {
  const most = Array.from({ length: MAX_TOKENS - 2 }, () => '1')
  assert.equal(verdictOf(most)?.tokens, most.length)
  assert.equal(verdictOf([...most, '1']), undefined)
})

test('numbers are found as in short lists where they stand behind and among many others', () => {
  const mixed = fc.array(fc.oneof(plain, special), { minLength: 100, maxLength: 300 })
  const runs = fc.array(plain, { minLength: 300, maxLength: 500 })
  fc.assert(
    fc.property(mixed, runs, mixed, (...parts) => {
      assert.deepEqual(verdictOf(parts.flat()), verdictOneByOne(parts.flat()))
    }),
    { numRuns: 200 },
  )
})
