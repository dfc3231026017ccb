import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CHECKS } from './checks/index.ts'
import { readKnownFailures, verdictOf } from './known-failures.ts'
import { failuresOf } from './report.ts'
import { REQUIREMENTS } from './requirements.ts'
import { runCell } from './verifies.ts'

// A cell of each pair of eras, and of each network transport; `npm run compliance` runs all of them.
const QUICK = [
  { client: 'v1', server: 'v1', transport: 'sse', route: 'gateway' },
  { client: 'v1', server: 'ours', transport: 'ws', route: 'gateway' },
  { client: 'v2-legacy', server: 'v2-modern', transport: 'http', route: 'gateway' },
  { client: 'v2-modern', server: 'v2-legacy', transport: 'http', route: 'gateway' },
  { client: 'ours', server: 'v2-modern', transport: 'http', route: 'direct' },
] as const

test('every requirement has a check, and every check a requirement', () => {
  assert.deepEqual(Object.keys(CHECKS).sort(), Object.keys(REQUIREMENTS).sort())
})

for (const cell of QUICK) {
  const { client, server, transport, route } = cell
  test(`a ${client} client and a ${server} server over ${transport}, ${route}, meet every requirement that is not known to fail`, async () => {
    const report = await runCell(cell)

    const { ok, text } = verdictOf([report], await readKnownFailures(), false)
    assert.ok(ok, `${text}\n${failuresOf([report])}`)
  })
}
