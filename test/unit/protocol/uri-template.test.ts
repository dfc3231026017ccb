import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { matchesTemplate, matchesRawTemplate } from '../../../src/protocol/uri-patterns.ts'

test('a template of any length and form is compared with a URI in a millisecond', () => {
  const hostile: [what: string, template: string, uri: string][] = [
    ['120 kB of open braces', '{'.repeat(120_000), 'x'],
    ['open braces of the longest template', '{'.repeat(2048), 'x'.repeat(2048)],
    ['a literal that nearly repeats', `{x}${'a'.repeat(1000)}b${'a'.repeat(1000)}{y}`, 'a'.repeat(2048)],
    ['a literal with a period', `{x}${'ab'.repeat(500)}c${'ab'.repeat(500)}{y}`, 'ab'.repeat(1024)],
    ['a thousand expressions', '{a}x'.repeat(500), `${'x'.repeat(2000)}y`],
    ['a long URI', 'a{x}b', 'a'.repeat(10_000_000)],
  ]
  for (const [what, template, uri] of hostile) {
    const took = Array.from({ length: 20 }, () => {
      const start = performance.now()
      assert.equal(matchesTemplate(template, uri), false)
      return performance.now() - start
    })
    assert.ok(Math.min(...took) <= 1, `${what}: ${Math.min(...took)} ms`)
  }
})

test('a template matches what a pattern of its literals in order would', () => {
  const literal = fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 9 })
  fc.assert(
    fc.property(fc.array(literal, { minLength: 1, maxLength: 4 }), literal, literal, (literals, before, more) => {
      const uri = `${before}${literals.join(more)}`
      const pattern = new RegExp(`^${literals.join('.*')}$`)
      assert.equal(
        matchesTemplate(literals.join('{x}'), uri),
        literals.length > 1 ? pattern.test(uri) : uri === literals[0],
      )
    }),
    { numRuns: 2000 },
  )
})

test('literals of a template do not share characters of the URI', () => {
  assert.equal(matchesTemplate('a{x}aa', 'aaa'), true)
  assert.equal(matchesTemplate('a{x}aa', 'aa'), false)
})

test('a template is compared as its server wrote it, in its canonical form', () => {
  assert.equal(matchesRawTemplate('notes://%61b/{x}', 'notes://ab/1'), true)
  const escaped = `notes://${'%61'.repeat(1000)}{x}`
  assert.equal(matchesRawTemplate(escaped, `notes://${'a'.repeat(1000)}1`), true)
  const longest = `n:${'%61'.repeat(2000)}{x}`
  assert.equal(matchesRawTemplate(longest, `n:${'a'.repeat(2000)}1`), true)
})

test('a template that is too long to match is not looked at', () => {
  const unread = {
    length: 120_000,
    toString(): string {
      throw new Error('it was read')
    },
  }
  assert.equal(matchesRawTemplate(unread as unknown as string, 'notes://ab/1'), false)
})
