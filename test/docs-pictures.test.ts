import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { test } from 'node:test'
import { PICTURES } from './e2e/browser/pictures.ts'
import { ROOT } from './guard/sources.ts'

const PAGE_DOCUMENT = 'docs/dashboard.md'
const AGAIN = 'take it with: npm run gen -- --pictures'

const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

/** Pages as the page itself lists them. */
const pages = [...read('plugins/ui/page/main.ts').matchAll(/\{ id: '(\w+)', title: '([^']+)'/g)].map(
  ([, id = '', title = '']) => ({ id, title }),
)
/** Titles in the table of the document. */
const rows = [...read(PAGE_DOCUMENT).matchAll(/^\| ([A-Z][\w ,]+?) +\|/gm)].map(([, title = '']) => title)

test('the pages are those that the document names, and each has a picture', () => {
  assert.ok(pages.length >= 9)
  assert.deepEqual(
    rows,
    pages.map(({ title }) => title),
  )
  const without = pages.filter(
    ({ id, title }) => !PICTURES.some(one => one.title === title && one.hash.split('?')[0] === id),
  )
  assert.deepEqual(without, [], `these pages have no picture: add them to test/e2e/browser/pictures.ts`)
  const unknown = PICTURES.filter(({ title }) => !pages.some(one => one.title === title))
  assert.deepEqual(unknown, [], 'these pictures are of no page')
})

test('every picture of the list is there, and the document shows it', () => {
  const shown = [...read(PAGE_DOCUMENT).matchAll(/!\[[^\]]+\]\(images\/(ui-[\w-]+\.png)\)/g)].map(([, file]) => file)
  const listed = PICTURES.map(({ file }) => file).sort()
  assert.deepEqual(
    listed.filter(file => !existsSync(join(ROOT, 'docs/images', file))),
    [],
    AGAIN,
  )
  assert.deepEqual([...shown].sort(), listed)
  assert.deepEqual(
    globSync('docs/images/ui-*.png', { cwd: ROOT })
      .map(file => basename(file))
      .sort(),
    listed,
  )
})
