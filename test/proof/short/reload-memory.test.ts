import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireBuild } from '../../peers/gateway.ts'
import { grow, refuseAll } from '../reloads/memory.ts'

const OPTIONS = { skip: process.platform !== 'linux' && 'looks into /proc' }

test('fifty mistakes in the file of a running gateway are refused with their place, and it serves on', async () => {
  requireBuild()

  const { total, refused, located, served, wrong } = await refuseAll()

  assert.deepEqual(wrong, [])
  assert.deepEqual([total, refused, located, served], [50, 50, 50, 50])
})

test(
  'reloads that add and remove servers leave no file and no process, and the server that stays is the same one',
  OPTIONS,
  async () => {
    requireBuild()

    const { warm, rested, pids } = await grow(5, 20, { restMs: 1000 })

    assert.ok(Math.abs(rested.files - warm.files) <= 5, `${warm.files} → ${rested.files} files`)
    assert.equal(rested.children, warm.children)
    assert.equal(pids[0], pids[1])
  },
)
