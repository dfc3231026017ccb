import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireBuild } from '../../peers/gateway.ts'
import { atEndOfInput, overHttp } from '../cancels/cancels.ts'

for (const era of ['modern', 'legacy'] as const)
  test(`the server hears of each call that a ${era} client gives up, and its late answers leave nothing pending`, async () => {
    const { times, pending } = await overHttp(era, 10)

    assert.equal(times.length, 10)
    assert.equal(pending, 0)
  })

test('the server hears of each call whose client closed stdin', async () => {
  requireBuild()

  const { times } = await atEndOfInput(10)

  assert.equal(times.length, 10)
})
