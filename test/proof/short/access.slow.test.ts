import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireBuild } from '../../peers/gateway.ts'
import { canary } from '../access/canary.ts'

const OPTIONS = { skip: process.platform !== 'linux' && 'looks into /proc' }

test('a credential goes nowhere but to the listener', OPTIONS, async () => {
  requireBuild()
  const { answered, places } = await canary(40)

  assert.equal(answered, 40)
  const wrong = Object.entries(places).filter(([, { bytes, found }]) => bytes === 0 || found > 0)
  assert.deepEqual(wrong, [])
})
