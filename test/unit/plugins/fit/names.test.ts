import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fitNames } from '../../../../plugins/fit/fitter.ts'

const LONG = 'warehouse__synchronize_all_customer_data_across_multiple_regional_systems'

function shown(names: readonly string[], longest: number): string[] {
  const fitted = fitNames(names, longest)
  return names.map(name => fitted.get(name) ?? name)
}

test('a long name keeps its words, shorter, and gets a hash of the real one', () => {
  const [name = ''] = shown([LONG], 51)

  assert.match(name, /^warehouse__s[a-z]*_all_c[a-z_]*_[a-z2-7]{6}$/)
  assert.ok(name.length <= 51, name)
})

test('a real name is left to the tool that has it', () => {
  assert.deepEqual(
    shown(['a.b', 'a_b'], 20).map(name => name.slice(0, 4)),
    ['a_b_', 'a_b'],
  )
})

test('ten thousand names of one beginning are fitted to as many names within the limit, at once', () => {
  const names = Array.from({ length: 10_000 }, (_, n) => `${'long_server_name_'.repeat(4)}tool_${n}`)
  const made = shown(names, 50)

  assert.equal(new Set(made).size, names.length)
  assert.ok(made.every(name => name.length <= 50 && /^[A-Za-z0-9_-]+$/.test(name)))
})

test('a name of other characters alone is told by its hash', () => {
  for (const name of ['検索', '🦊', '  ', '.', '', '__proto__.x', 'x'.repeat(100_000)]) {
    const [made = ''] = shown([name], 30)
    assert.match(made, /^[A-Za-z0-9_-]{1,30}$/, name.slice(0, 20))
    assert.match(made, /[a-z0-9]/)
  }
})
