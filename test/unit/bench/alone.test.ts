import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { costOver } from '../../bench/alone/cost.ts'
import { openRoad } from '../../bench/alone/roads.ts'
import { cleanup } from '../../fixtures/cleanup.ts'

test('the cost of a plugin is the median of what each round took more, and the least is of the undisturbed rounds', () => {
  const base = [10, 10, 10, 30, 10, 11, 10, 12, 10, 10]
  const own = base.map(micros => micros + 2)
  assert.deepEqual(costOver(base, own), { more: 2, least: 2 })
  const disturbed = own.map((micros, round) => (round % 3 === 0 ? micros * 3 : micros))
  assert.equal(costOver(base, disturbed).least, 2)
})

for (const kind of ['pipe', 'http'] as const)
  test(`a gateway in memory answers calls over ${kind}, with nothing on and with everything`, async t => {
    const directory = mkdtempSync(join(tmpdir(), 'gateway-alone-test-'))
    cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
    for (const plugins of ['none', 'auth too'] as const) {
      const ask = { era: 'legacy', method: 'tools/call', tool: 'small' } as const
      const road = await openRoad(kind, { plugins, ask, directory })
      cleanup(t, () => road.close())
      await road.call(64)
    }
  })
