import assert from 'node:assert/strict'
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { digestOf } from '../../../scripts/digest.ts'
import { directory } from '../../e2e/cli/run.ts'

const PATTERNS = ['package.json', '{src,dist}/**']

test('a digest tells of each file that is changed, renamed, added or removed, and of no other', async t => {
  const cwd = await directory(t, { 'package.json': '{}' })
  await mkdir(join(cwd, 'src/deep'), { recursive: true })
  await mkdir(join(cwd, 'dist'))
  const seen = new Set<string>()
  const changes: readonly (() => Promise<unknown>)[] = [
    () => writeFile(join(cwd, 'src/deep/one.ts'), 'one'),
    () => writeFile(join(cwd, 'src/deep/one.ts'), 'two'),
    () => rename(join(cwd, 'src/deep/one.ts'), join(cwd, 'src/one.ts')),
    () => writeFile(join(cwd, 'dist/one.js'), ''),
    () => writeFile(join(cwd, 'package.json'), '{ }'),
    () => rm(join(cwd, 'src/one.ts')),
  ]

  for (const change of changes) {
    await change()
    seen.add(digestOf(cwd, PATTERNS))
  }
  const last = digestOf(cwd, PATTERNS)
  await writeFile(join(cwd, 'README.md'), 'new')
  await writeFile(join(cwd, 'dist/.built'), last)

  assert.equal(seen.size, changes.length)
  assert.equal(digestOf(cwd, PATTERNS), last)
})
