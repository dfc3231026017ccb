import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { withFreshSnippets } from '../../../scripts/snippets.ts'

let directory = ''

before(async () => {
  directory = await mkdtemp(join(tmpdir(), 'snippets-'))
  const text = 'const a = 1\nif (a) {\n  // #region inner\n  run(`$&`)\n    .twice()\n  // #endregion inner\n}\n'
  await writeFile(join(directory, 'a.ts'), text)
})

after(() => rm(directory, { recursive: true, force: true }))

function fresh(markdown: string): string {
  return withFreshSnippets(markdown, pathToFileURL(`${directory}/`))
}

test('a region replaces what stood in the fence, without its indentation', () => {
  const markdown = 'before\n\n<!-- snippet: a.ts#inner -->\n```ts\nold\n```\n\nafter\n'

  assert.equal(fresh(markdown), 'before\n\n<!-- snippet: a.ts#inner -->\n```ts\nrun(`$&`)\n  .twice()\n```\n\nafter\n')
})

test('a whole file leaves out the marks of its regions', () => {
  const markdown = '<!-- snippet: a.ts -->\n\n```ts\n```\n'

  assert.equal(
    fresh(markdown),
    '<!-- snippet: a.ts -->\n\n```ts\nconst a = 1\nif (a) {\n  run(`$&`)\n    .twice()\n}\n```\n',
  )
})

test('what is fresh stays as it is', () => {
  const once = fresh('<!-- snippet: a.ts#inner -->\n```ts\nold\n```\n<!-- snippet: a.ts -->\n```ts\nold\n```\n')

  assert.equal(fresh(once), once)
})

test('a snippet without a fence, an unknown region and an unknown file are errors', () => {
  assert.throws(() => fresh('<!-- snippet: a.ts -->\ntext\n'), /1 of 1 snippet comments/)
  assert.throws(() => fresh('<!-- snippet: a.ts#outer -->\n```ts\n```\n'), /no region "outer"/)
  assert.throws(() => fresh('<!-- snippet: b.ts -->\n```ts\n```\n'), /ENOENT/)
})
