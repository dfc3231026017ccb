import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireBuild } from '../../peers/gateway.ts'
import { canary } from '../access/canary.ts'
import { killedQuota } from '../access/killed-quota.ts'

const OPTIONS = { skip: process.platform !== 'linux' && 'looks into /proc' }

test('a credential goes nowhere but to the listener', OPTIONS, async () => {
  requireBuild()
  const { answered, places } = await canary(40)

  assert.equal(answered, 40)
  const wrong = Object.entries(places).filter(([, { bytes, found }]) => bytes === 0 || found > 0)
  assert.deepEqual(wrong, [])
})

test('the quota of a day is spent to the last, and no further, by gateways that are killed', async () => {
  requireBuild()
  const { counted, quota, executed, cut } = await killedQuota(60, 1)

  assert.equal(counted, quota)
  assert.ok(executed <= quota && executed >= quota - cut, `${executed} executed, ${cut} cut`)
})
