import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ScratchDirectories } from '../../../../../plugins/agents/containment.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'

test('without roots a task has an empty directory of its own, and names no other', async t => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'scratch-')))
  cleanup(t, () => rmSync(folder, { recursive: true, force: true }))
  const scratch = new ScratchDirectories(() => Promise.resolve(folder))
  const one = await scratch.openDirectory(undefined, [])
  const two = await scratch.openDirectory(undefined, [])

  assert.notEqual(one, two)
  assert.equal(await scratch.openDirectory(one, []), one, 'who goes on with the task')
  for (const cwd of ['/etc', folder, `${one}/..`, join(folder, 'x'), '.'])
    await assert.rejects(scratch.openDirectory(cwd, []), { code: 'GW_AGENT_PATH' }, cwd)
  await assert.rejects(scratch.openDirectory(undefined, ['/etc/passwd']), /agents.roots is not configured/)
  await scratch.prune(name => one.endsWith(name))
  assert.ok(existsSync(two), 'it is too young to be forgotten')
})
