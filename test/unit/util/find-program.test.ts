import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { findProgram } from '../../../src/util/find-program.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

test('a program is the first file of its name that may be run, in the folders or at its path', t => {
  const directory = mkdtempSync(join(tmpdir(), 'find-program-'))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  for (const folder of ['plain', 'bin', 'late', 'named/tool']) mkdirSync(join(directory, folder), { recursive: true })
  for (const name of ['plain/tool', 'bin/tool', 'late/tool']) writeFileSync(join(directory, name), '#!/bin/sh\n')
  for (const name of ['bin/tool', 'late/tool']) chmodSync(join(directory, name), 0o755)
  const folders = ['named', 'plain', 'bin', 'late'].map(name => join(directory, name))

  assert.equal(findProgram('tool', folders, '/'), join(directory, 'bin/tool'))
  assert.equal(findProgram('tool', ['late'], directory), join(directory, 'late/tool'))
  assert.equal(findProgram('./bin/tool', [], directory), join(directory, 'bin/tool'))
  assert.equal(findProgram('./plain/tool', folders, directory), undefined)
  assert.equal(findProgram('tool', [], directory), undefined)
  assert.equal(findProgram('to\0ol', folders, directory), undefined)
})
