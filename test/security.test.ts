import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const ROOT = new URL('../', import.meta.url)

test('every row of the table in SECURITY.md names a test or a proof that exists, or says that it is not shown', () => {
  const rows = readFileSync(new URL('SECURITY.md', ROOT), 'utf8')
    .split('\n')
    .filter(line => /^\| [A-Z]\d+ /.test(line))
    .map(line => line.split('|').map(cell => cell.trim()))

  const wrong = rows.filter(([, , , shownBy = '', figure = '']) => {
    const files = [...shownBy.matchAll(/`([^`]+)`/g)].map(([, file]) => file ?? '')
    return files.length === 0
      ? !/not (shown|built)/.test(figure)
      : files.some(file => !existsSync(new URL(file, ROOT)))
  })

  assert.equal(rows.length, 61)
  assert.deepEqual(wrong, [])
})
