import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseMessage } from '../../../src/protocol/jsonrpc.ts'

/** An object: its names, each of them as it is written, and the object that stands there. */
type Names = readonly (readonly [name: string, written: string, inner: Names])[]

/** Gives a character as it stands, or as one escape or two. */
function written(character: string, isEscaped: boolean): string {
  if (!isEscaped) return JSON.stringify(character).slice(1, -1)
  return Array.from({ length: character.length }, (_, at) => {
    const digits = character.charCodeAt(at).toString(16).padStart(4, '0')
    return `\\u${at === 0 ? digits : digits.toUpperCase()}`
  }).join('')
}

const CHARACTER = fc.constantFrom(
  'a',
  'b',
  '1',
  '\u00e9',
  '\u20ac',
  '\u{1f600}',
  '\ud83d',
  '\ufffd',
  '"',
  '\\',
  '\n',
  '\0',
)

const SHORT_NAME = fc.array(fc.tuple(CHARACTER, fc.boolean()), { maxLength: 3 })
const LONG_NAME = fc
  .tuple(fc.integer({ min: 60, max: 70 }), CHARACTER, fc.boolean())
  .map(([length, last, isEscaped]) => [
    ...Array.from({ length }, () => ['x', false] as const),
    [last, isEscaped] as const,
  ])
const NUMBERED = fc.nat(9999).map(n => Array.from(String(n), digit => [digit, false] as const))

const NAME = fc
  .oneof(SHORT_NAME, LONG_NAME, { arbitrary: NUMBERED, weight: 4 })
  .map(
    parts =>
      [
        parts.map(([character]) => character).join(''),
        parts.map(([character, isEscaped]) => written(character, isEscaped)).join(''),
      ] as const,
  )

/** Objects of up to so many names, in some of which another object stands. */
function objectsOf(maxLength: number, inner: fc.Arbitrary<Names>): fc.Arbitrary<Names> {
  const member = fc.tuple(NAME, inner).map(([[name, text], within]) => [name, text, within] as const)
  return fc.array(member, { maxLength, size: 'max' })
}

const EMPTY = fc.constant<Names>([])
const INNER = objectsOf(16, EMPTY)
const OBJECT = objectsOf(30, fc.oneof({ arbitrary: EMPTY, weight: 9 }, INNER))

function textOf(names: Names): string {
  return `{${names.map(([, text, inner]) => `"${text}":${textOf(inner)}`).join()}}`
}

/** Tells whether an object has two names that are the same in UTF-8. */
function hasTwice(names: Names): boolean {
  return (
    new Set(names.map(([name]) => name.toWellFormed())).size < names.length ||
    names.some(([, , inner]) => hasTwice(inner))
  )
}

test('a message is refused when one of its objects has a name twice, however it is written, and only then', t => {
  const seen = { once: 0, twice: 0 }
  fc.assert(
    fc.property(OBJECT, names => {
      const text = `{"jsonrpc":"2.0","id":1,"method":"x","params":{"arguments":[${textOf(names)}]}}`
      const message = parseMessage(Buffer.from(text))
      const why = message.kind === 'malformed' ? message.error.message : ''
      seen[why === '' ? 'once' : 'twice']++
      assert.equal(/stands twice in one object/.test(why), hasTwice(names), why)
      assert.equal(why === '', !hasTwice(names), why)
    }),
    { numRuns: 300 },
  )
  t.diagnostic(JSON.stringify(seen))
  assert.ok(seen.once > 10 && seen.twice > 10)
})
