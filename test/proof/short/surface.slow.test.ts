import assert from 'node:assert/strict'
import { test } from 'node:test'
import { costs } from '../surface/costs.ts'
import { fuzzed } from '../surface/fuzz.ts'
import { graded, steps } from '../surface/quality.ts'
import type { Figure } from '../surface/figures.ts'

function missed(figures: readonly Figure[]): string[] {
  return figures
    .filter(({ isMet, isOptional }) => !isMet && isOptional !== true)
    .map(({ what, value }) => `${what}: ${value}`)
}

test('a search finds as much as it did, in answers and lists that are as small', async () => {
  assert.deepEqual(missed([...(await graded()), ...(await costs())]), [])
  const [atFive] = await steps()
  assert.ok(Number(atFive?.value) >= 0.68, atFive?.value)
})

test('nobody finds what is hidden from him', async () => {
  assert.deepEqual(missed(await fuzzed(200)), [])
})
