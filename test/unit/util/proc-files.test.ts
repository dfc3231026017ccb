import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { scanProcesses } from '../../../src/processes/cleanup/proc-scan.ts'
import { readProc, readProcSync } from '../../../src/util/process/proc-files.ts'

const OPTIONS = { skip: process.platform !== 'linux' && 'reads /proc' }
const MIB = 1024 * 1024

test('a file of /proc is read whole, whatever the size of the buffer', OPTIONS, async () => {
  const environment = `/proc/${process.pid}/environ`
  const whole = readFileSync(environment, 'latin1')

  assert.equal(await readProc(environment, Buffer.alloc(7)), whole)
  assert.equal(await readProc(environment), whole)
  assert.equal(readProcSync(environment), whole)
})

test(
  'a file of /proc that is not there is empty, or an error where it is read at once',
  OPTIONS,
  async () => {
    assert.equal(await readProc('/proc/0/stat'), '')
    assert.throws(() => readProcSync('/proc/0/stat'), { code: 'ENOENT' })
  },
)

test('a look at all processes takes no buffer for each of them', OPTIONS, async () => {
  await scanProcesses()
  const before = process.memoryUsage().arrayBuffers

  for (let look = 0; look < 20; look++) await scanProcesses()

  // 64 KiB for each file would be 1 MiB for every eight processes, in each of the looks.
  assert.ok(process.memoryUsage().arrayBuffers - before < 2 * MIB)
})
