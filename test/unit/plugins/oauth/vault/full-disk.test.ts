import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { promisify } from 'node:util'

const SCRIPT = fileURLToPath(new URL('../../../../fixtures/oauth/vault-on-a-small-disk.ts', import.meta.url))

test('a login that is renewed on a full disk is used from memory, and the next renewal is written', async () => {
  const disk = '/mnt'
  const { stdout } = await promisify(execFile)('bwrap', [
    ...['--bind', '/', '/', '--dev-bind', '/dev', '/dev', '--size', String(2 ** 20), '--tmpfs', disk],
    ...['--die-with-parent', process.execPath, '--disable-warning=ExperimentalWarning', SCRIPT, disk],
  ])
  const { kinds, full, kept, presented, said } = JSON.parse(stdout) as Record<string, unknown>

  assert.deepEqual(kinds, ['renewed-1', 'renewed-1', 'renewed-1'])
  assert.match(String(full), /the login store \/mnt\/grants\.sqlite is unavailable: .*(full|disk)/)
  assert.equal(kept, 'renewed-2')
  assert.equal(presented, 2)
  assert.deepEqual(said, ['a renewed login could not be written; kept in memory'])
})
