import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { readProcFile, readProcFileSync } from '../../../src/util/process/proc-files.ts'

const OPTIONS = { skip: process.platform !== 'linux' && 'reads /proc' }
test('a file of /proc is read whole, whatever the size of the buffer', OPTIONS, async () => {
  const environment = `/proc/${process.pid}/environ`
  const whole = readFileSync(environment, 'latin1')

  assert.equal(await readProcFile(environment, Buffer.alloc(7)), whole)
  assert.equal(await readProcFile(environment), whole)
  assert.equal(readProcFileSync(environment), whole)
})

test('a file of /proc that is not there is empty, or an error where it is read at once', OPTIONS, async () => {
  assert.equal(await readProcFile('/proc/0/stat'), '')
  assert.throws(() => readProcFileSync('/proc/0/stat'), { code: 'ENOENT' })
})
