import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const ROOT = new URL('../', import.meta.url)

test('every test that docs/threat-model.md names exists', () => {
  const text = readFileSync(new URL('docs/threat-model.md', ROOT), 'utf8')
  const files = [...text.matchAll(/`(test\/[^`]+)`/g)].map(([, file]) => file ?? '')

  const missing = files.filter(file => !existsSync(new URL(file, ROOT)))

  assert.ok(files.length > 30)
  assert.deepEqual(missing, [])
})
