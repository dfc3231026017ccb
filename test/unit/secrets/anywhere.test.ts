import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { Secrets } from '../../../src/util/secrets.ts'

/** Characters that look alike in their low byte, make up pairs, or mean something in an encoding. */
const CHARACTER = fc.constantFrom('a', 'b', '\u0161', '\u0261', '\ud83d', '\ude00', '\0', '\u0100', '"', '\n')
const word = (minLength: number, maxLength: number): fc.Arbitrary<string> =>
  fc.array(CHARACTER, { minLength, maxLength }).map(parts => parts.join(''))

/** Secrets of which one may begin with or within another. */
const SECRETS = fc
  .tuple(fc.array(word(4, 14), { minLength: 1, maxLength: 4 }), fc.nat(6), word(0, 6))
  .map(([words, at, more]) => [...words, `${words[0]?.slice(at) ?? ''}${more}`])

/** Text that is put together from secrets, pieces of them and other text. */
const textOf = (secrets: readonly string[]): fc.Arbitrary<string> => {
  const one = fc.constantFrom(...secrets)
  const piece = fc
    .tuple(one, fc.nat(14), fc.constantFrom('', '\u2026'))
    .map(([text, end, cut]) => text.slice(0, end) + cut)
  const hex = one.map(text => Buffer.from(text.toWellFormed()).toString('hex'))
  return fc.array(fc.oneof(one, piece, word(0, 6), hex), { maxLength: 6 }).map(parts => parts.join(''))
}

const ANY = SECRETS.chain(secrets => fc.tuple(fc.constant(secrets), textOf(secrets)))

/** The same place by place: at each the longest text that is hidden between two other characters, or is cut there. */
function hideSlowly({ hide }: Secrets, text: string): string {
  let shown = ''
  for (let at = 0; at < text.length;) {
    const length = secretAt(hide, text, at)
    shown += length === 0 ? text.charAt(at) : '***'
    at += length || 1
  }
  return shown
}

function secretAt(hide: (text: string) => string, text: string, at: number): number {
  for (let end = text.length; end > at; end--) if (hide(`|${text.slice(at, end)}|`) === '|***|') return end - at
  const cut = text.indexOf('\u2026', at)
  return cut >= 0 && hide(`|${text.slice(at, cut + 1)}|`) === '|***\u2026|' ? cut - at : 0
}

test('a secret is hidden wherever it stands in a text, and nothing else is', () => {
  fc.assert(
    fc.property(ANY, ([values, text]) => {
      const secrets = new Secrets(values)
      const shown = secrets.hide(text)
      assert.equal(shown, hideSlowly(secrets, text))
      for (const value of values) if (value.length >= 4) assert.ok(!shown.includes(value))
    }),
    { numRuns: 300 },
  )
})
