import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { linesOf } from './temp.ts'

const MS = 10_000

const aliasBomb = (levels: number) =>
  [
    'a0: &a0 [x, x, x, x, x, x, x, x, x, x]',
    ...Array.from({ length: levels }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i}, `.repeat(10)}]`),
  ].join('\n')

const mergeBomb = [
  `b: &b { ${Array.from({ length: 500 }, (_, i) => `k${i}: 1`).join(', ')} }`,
  ...Array.from({ length: 120 }, (_, i) => `m${i}: { <<: *b }`),
].join('\n')

const hostile: Readonly<Record<string, readonly [text: string, expected: RegExp]>> = {
  'duplicate keys': ['version: 1\n'.repeat(2), /gateway\.yaml:2:1 duplicate key "version"/],
  'a thousand duplicate keys': ['a: 1\n'.repeat(1000), /duplicate key "a"/],
  'an alias bomb': [aliasBomb(30), /more than 50000 values, including aliases/],
  'a merge key bomb': [mergeBomb, /more than 50000 values/],
  'an alias that contains itself': ['a: &a { b: *a }\n', /alias "\*a" contains itself/],
  '50,000 nested lists': ['a: ' + '['.repeat(50_000), /nested too deep/],
  '50,000 nested lists that are closed': ['a: ' + '['.repeat(50_000) + ']'.repeat(50_000), /nested too deep/],
  '20,000 nested maps': ['a: ' + '{ b: '.repeat(20_000), /nested too deep/],
  '50,000 dashes': ['- '.repeat(50_000), /nested too deep/],
  '50,000 question marks': ['? '.repeat(50_000), /nested too deep/],
  '50,000 colons': ['a: '.repeat(50_000), /Nested mappings are not allowed/],
  '1,000 levels of indentation': [
    Array.from({ length: 1000 }, (_, i) => `${' '.repeat(i)}a:`).join('\n'),
    /nested deeper than 64 levels/,
  ],
  '10 MiB': ['# '.padEnd(10 * 1024 * 1024, 'x'), /too large: 10240 KiB, limit 1024 KiB/],
  'bytes that are no text': ['\u0000\u0001', /gateway\.yaml/],
}

for (const [name, [text, expected]] of Object.entries(hostile)) {
  test(`${name}: a clear error within ${MS} ms of processor time`, async t => {
    const { lines, ms } = await measured(t, text)

    assert.match(lines.join('\n'), expected)
    assert.ok(ms < MS, `took ${Math.round(ms)} ms`)
  })
}

test('a file of endless small things is refused before it is parsed', async t => {
  for (const text of ['- a\n'.repeat(200_000), '#\n'.repeat(400_000), `a: [${'1,'.repeat(300_000)}]`]) {
    assert.match((await linesOf(t, { 'gateway.yaml': text })).join('\n'), /too complex/)
  }
})

test('a hundred problems are shown, and the rest is counted', async t => {
  const lines = await linesOf(t, {
    'gateway.yaml': Array.from({ length: 300 }, (_, i) => `k${i}: 1`).join('\n'),
  })

  assert.equal(lines.length, 101)
  assert.equal(lines.at(-1), 'and 202 more')
})

const brackets = '[{'.repeat(500)
for (const [what, text] of Object.entries({
  '64 levels': 'plugins: { p: { use: x, options: { a: ' + '['.repeat(58) + ']'.repeat(58) + ' } } }\n',
  'brackets in quotes, comments and block texts': `# ${brackets}\nserver:\n  title: "${brackets}"\n  name: '${brackets}'\n  instructions: |\n    ${brackets}\n`,
}))
  test(`${what} are not nested too deep`, async t => {
    const lines = await linesOf(t, { 'gateway.yaml': text })

    assert.deepEqual(
      lines.filter(line => !line.startsWith('warning')),
      [],
    )
  })

async function measured(t: TestContext, text: string): Promise<{ lines: string[]; ms: number }> {
  // Processor time: on a busy machine the clock on the wall tells of others.
  const started = process.cpuUsage()
  const lines = await linesOf(t, { 'gateway.yaml': text })
  const { user, system } = process.cpuUsage(started)
  return { lines, ms: (user + system) / 1000 }
}
