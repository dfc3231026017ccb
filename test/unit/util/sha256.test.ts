import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { sha256 } from '../../../src/util/sha256.ts'

test('texts of every length up to four blocks have the digest that node:crypto gives them', () => {
  for (let length = 0; length <= 256; length++) {
    const text = 'é/a'.repeat(100).slice(0, length)
    assert.equal(sha256(text), createHash('sha256').update(text).digest('hex'), `${length} letters`)
  }
})
