import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compileGlobs } from '../../../src/util/globs.ts'

const ROWS: readonly [pattern: string | string[], yes: string[], no: string[]][] = [
  ['*', ['', 'a', 'a/b', '.x', '../x', 'a\nb', '__proto__'], []],
  ['read_*', ['read_', 'read_file', 'read_a/../b', 'read_\n'], ['xread_a', 'READ_a', 'read']],
  ['file:///a/*', ['file:///a/', 'file:///a/b/c', 'file:///a/../b'], ['file:///a', 'file:///b/']],
  ['file:///**', ['file:///x/y'], ['http://x']],
  ['*delete*', ['delete', 'a_delete_b'], ['delet']],
  ['*a*b', ['ab', 'xaxbxb'], ['abx', 'ba']],
  ['ab*ba', ['abba', 'abxba', 'ab*ba', 'abbaba'], ['aba', 'ab', 'ba', 'xabba', 'abbax']],
  ['*_x', ['_x', 'a_x', '_x_x'], ['x', '_x_', '']],
  ['\\**', ['*', '*a'], ['a*', '']],
  ['db_?', ['db_1', 'db_/'], ['db_', 'db_12']],
  ['{a,b}_{c,{d,e}}', ['a_c', 'b_e'], ['a_', '{a,b}_c', 'c_c']],
  ['test://s/{id}', ['test://s/{id}'], ['test://s/id']],
  ['a[0-9x]', ['a1', 'ax'], ['ab', 'a', 'a-']],
  ['[!a-c]*', ['d', 'da'], ['a', 'bc', '']],
  ['a[', ['a['], ['a']],
  ['\\*\\{a,b\\}', ['*{a,b}'], ['x{a,b}', '*a']],
  ['a.b+(c)|^$', ['a.b+(c)|^$'], ['axb+(c)|^$', 'a.bbc']],
  ['!x', ['!x'], ['x', 'y']],
  [
    ['a', 'b*'],
    ['a', 'bc'],
    ['c', 'ab'],
  ],
  [[], [], ['', 'a', '*']],
]

test('a glob matches names and URIs as a whole, and nothing that only looks like a path', () => {
  for (const [pattern, yes, no] of ROWS) {
    const matches = compileGlobs(pattern)

    for (const text of yes) assert.ok(matches(text), `${String(pattern)} should match ${JSON.stringify(text)}`)
    for (const text of no) assert.ok(!matches(text), `${String(pattern)} should not match ${JSON.stringify(text)}`)
  }
})

test('a hostile name cannot make matching slow', () => {
  const matches = compileGlobs('*a*a*a*a*a*a*a*b')
  const started = performance.now()

  assert.equal(matches('a'.repeat(50_000)), false)

  assert.ok(performance.now() - started < 10_000, 'backtracking would take years')
})

test('a glob with too many alternatives is refused instead of expanded', () => {
  assert.throws(() => compileGlobs('{a,b}'.repeat(30)), /more than 1000 alternatives/)
})
