import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { generatedCase } from './generated.ts'
import { difference } from './oracle.ts'

test('generated policies decide as another implementation of CEL does, rule by rule', () => {
  let compared = 0
  const property = fc.property(generatedCase, one => {
    compared++
    assert.equal(difference(one), undefined)
  })

  fc.assert(property, { numRuns: 250, interruptAfterTimeLimit: 20_000 })

  assert.ok(compared > 50, `only ${compared} were compared`)
})
