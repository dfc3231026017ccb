import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toOneLine, sanitizeText } from '../../../src/util/plain-text.ts'
import { classifyUrl } from '../../../src/net/guarded-fetch.ts'
import { sanitizeName } from '../../../plugins/openapi/document/operation-parts.ts'

/** Characters of a text that a stranger made to be slow to read. */
const LENGTH = 200_000
/** Bound for 200,000 characters: linear work takes some milliseconds, quadratic work much longer. */
const MOST_MS = 500

function timeOf(work: () => unknown): number {
  const start = performance.now()
  work()
  return performance.now() - start
}

const BEGINNINGS = [
  '\u001b]',
  '\u001b]0;',
  '\u001b[',
  '\u001b[1;',
  '\u001b(',
  '\u001b',
  '\u009b1',
  '\u009d',
  ';?',
  ' ',
  '\n ',
]

for (const beginning of BEGINNINGS)
  test(`a text of ${JSON.stringify(beginning)} again and again is made plain in linear time`, () => {
    const text = `\u001b[${beginning.repeat(LENGTH / beginning.length)}x`
    assert.ok(timeOf(() => toOneLine(text)) < MOST_MS)
  })

test('what ends in one character many times loses it in linear time', () => {
  assert.equal(sanitizeName('__a__'), 'a')
  assert.equal(sanitizeName('___'), '')
  const url = new URL(`http://${'.'.repeat(LENGTH)}a/`)
  assert.ok(timeOf(() => classifyUrl(url)) < MOST_MS)
  assert.ok(timeOf(() => sanitizeName(`a${'_'.repeat(LENGTH)}a`)) < MOST_MS)
})

test('escape sequences leave nothing of themselves in a plain text', () => {
  const sequences = [
    '\u001b[31m',
    '\u001b[1;31m',
    '\u001b[38:2::1:2:3m',
    '\u001b[?25l',
    '\u001b[2J',
    '\u009b0m',
    '\u001b]0;a title\u0007',
    '\u001b]8;;https://example.com\u001b\\',
    '\u001b]52;c;Zm9v\u009c',
    '\u001b(B',
    '\u001bc',
    '\u001b=',
    '\u202e',
    '\u0000',
  ]
  for (const sequence of sequences)
    assert.equal(sanitizeText(`before ${sequence}after`), 'before after', JSON.stringify(sequence))
  assert.equal(sanitizeText(`${sequences.join('a')}\n\tb`), `${'a'.repeat(sequences.length - 1)}\n\tb`)
})

test('a sequence that does not end hides none of the text behind it', () => {
  assert.equal(sanitizeText('\u001b]0;rm -rf'), '0;rm -rf')
  assert.equal(sanitizeText('a\u001b['), 'a[')
})
