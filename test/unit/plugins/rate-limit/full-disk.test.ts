import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import { promisify } from 'node:util'

const SCRIPT = fileURLToPath(new URL('../fixtures/quota-on-a-small-disk.ts', import.meta.url))

interface Outcome {
  readonly tools: number
  readonly call: string
  readonly code: string | undefined
}

/** Runs a gateway whose day quotas are on a disk of one megabyte, and says what clients met when it was full and later. */
async function onSmallDisk(onFailure: string): Promise<{ outcomes: Record<string, Outcome>; log: string[] }> {
  const disk = '/mnt'
  const { stdout } = await promisify(execFile)('bwrap', [
    ...['--bind', '/', '/', '--dev-bind', '/dev', '/dev', '--size', String(2 ** 20), '--tmpfs', disk],
    ...['--die-with-parent', process.execPath, '--disable-warning=ExperimentalWarning', SCRIPT, disk, onFailure],
  ])
  return JSON.parse(stdout) as { outcomes: Record<string, Outcome>; log: string[] }
}

test('a full disk under a day quota refuses the calls that it counts, says so, and leaves all other requests alone', async () => {
  const { outcomes, log } = await onSmallDisk('refuse')

  assert.deepEqual(outcomes.full, { tools: 2, call: 'error', code: 'GW_QUOTA_STATE' })
  assert.deepEqual(outcomes.later, { tools: 2, call: 'ok' })
  assert.match(log.join('\n'), /daily quotas are unavailable.*(full|no space|disk|unable to open)/)
  assert.match(log.join('\n'), /daily quotas are available again/)
})

test('with onFailure: continue calls are answered uncounted while the disk is full', async () => {
  const { outcomes } = await onSmallDisk('continue')

  assert.deepEqual(outcomes.full, { tools: 2, call: 'ok' })
  assert.deepEqual(outcomes.later, { tools: 2, call: 'ok' })
})
