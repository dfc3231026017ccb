import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireBuild } from '../../peers/gateway.ts'
import { seeded } from '../secrets/seeded.ts'

const OPTIONS = { skip: process.platform !== 'linux' && 'looks into /proc' }

test(
  'secrets from files, commands, variables and the file itself reach their server, and nobody else',
  OPTIONS,
  async () => {
    requireBuild()
    const { undelivered, places } = await seeded(32, 80, 2)

    assert.equal(undelivered, 0)
    const wrong = Object.entries(places).filter(([, { bytes, found }]) => bytes === 0 || found > 0)
    assert.deepEqual(wrong, [])
  },
)
