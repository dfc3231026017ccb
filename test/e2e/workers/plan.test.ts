import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gateway } from '../cli/run.ts'
import { everything, twoWorkers } from './setting.ts'

test('several workers have a part of some bounds each, and a plan compares the whole', async t => {
  const { cwd } = await twoWorkers(t, { upstreams: { all: everything() }, cache: { maxEntries: 1000 } })

  const { stdout, stderr, code } = await gateway(['plan', '-c', 'gateway.yaml', '--json'], { cwd })

  const { servers, settings } = JSON.parse(stdout) as { servers: { kept: string[] }; settings: string[] }
  assert.equal(code, 0, stdout + stderr)
  assert.deepEqual(servers.kept, ['all'])
  assert.deepEqual(settings, [])
})
