import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeDirectory, makeDirectorySync } from '../../../../src/util/storage/make-directory.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

const BOTH = {
  later: makeDirectory,
  'at once': async (...given: [string, number?]) => makeDirectorySync(...given),
}

for (const [name, make] of Object.entries(BOTH)) {
  test(`a directory is made with all above it, ${name}, and the first of them is named`, async t => {
    const root = mkdtempSync(join(tmpdir(), 'made-'))
    cleanup(t, () => rmSync(root, { recursive: true }))

    assert.equal(await make(join(root, 'a/b/c'), 0o700), join(root, 'a'))
    assert.equal(await make(join(root, 'a/b/c')), undefined)
    assert.equal(await make(join(root, 'a/b/d')), join(root, 'a/b/d'))
    if (process.platform !== 'win32') assert.equal(statSync(join(root, 'a/b')).mode & 0o777, 0o700)
  })

  test(`a file in the way is an error, ${name}`, async t => {
    const root = mkdtempSync(join(tmpdir(), 'made-'))
    cleanup(t, () => rmSync(root, { recursive: true }))
    writeFileSync(join(root, 'file'), '')

    await assert.rejects(make(join(root, 'file')), { code: 'EEXIST' })
    await assert.rejects(make(join(root, 'file/below')), { code: 'ENOTDIR' })
  })

  const skip = process.platform !== 'linux'
  test(`where nothing can be made is an error, ${name}`, { skip, timeout: 10_000 }, async () => {
    await assert.rejects(make('/proc/1/.cache/below'), { code: 'ENOENT' })
  })
}
