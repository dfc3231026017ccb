import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Seal } from '../../../src/core/seal.ts'
import { createLog } from '../../../src/util/log.ts'

test('a seal opens what it closed, for the same purpose only', () => {
  const seal = new Seal()
  const sealed = seal.sealValue({ offset: 5 }, 'tools|alice')
  assert.deepEqual(seal.openValue(sealed, 'tools|alice'), { offset: 5 })
  assert.equal(seal.openValue(sealed, 'tools|bob'), undefined)
  assert.equal(new Seal().openValue(sealed, 'tools|alice'), undefined)
})

test('a seal refuses every flipped bit and every truncation', () => {
  const seal = new Seal()
  const bytes = Buffer.from(seal.sealValue(42, 'x'), 'base64url')
  for (let bit = 0; bit < bytes.length * 8; bit++) {
    const forged = Buffer.from(bytes)
    forged[bit >> 3] = (forged[bit >> 3] as number) ^ (1 << (bit & 7))
    assert.equal(seal.openValue(forged.toString('base64url'), 'x'), undefined)
  }
  for (let length = 0; length < bytes.length; length++)
    assert.equal(seal.openValue(bytes.subarray(0, length).toString('base64url'), 'x'), undefined)
})

test('a log line carries no control characters and no secret', () => {
  const lines: string[] = []
  const log = createLog({
    level: 'info',
    format: 'pretty',
    write: line => lines.push(line),
    secrets: ['hunter22'],
  })
  log.child({ upstream: 'x' }).info('red \u001b[31m', { token: 'Bearer hunter22', bad: '\u202e' })
  log.debug('quiet')
  assert.equal(lines.length, 1)
  // eslint-disable-next-line no-control-regex -- they are what is looked for
  assert.doesNotMatch(lines[0] ?? '', /[\u0000-\u001f\u202e]|hunter22/)
  assert.match(lines[0] ?? '', /upstream=x/)
})
