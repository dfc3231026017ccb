import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { toLegacyResult } from './whole.ts'
import { Payload } from '../../../src/protocol/payload.ts'
import { LEGACY_VERSIONS } from '../../../src/protocol/methods.ts'

describe('a result with content', () => {
  test('stays the same bytes where the client has all of its types', () => {
    const bytes = Buffer.from('{ "content" : [ {"type":"text","text":"\\u00e9","x":1e400} ], "isError":false }')
    for (const version of LEGACY_VERSIONS)
      assert.equal(toLegacyResult(Payload.fromBytes(bytes, 'legacy'), 'tools/call', version), bytes)
  })

  test('changes in that block alone; the others keep their bytes, and all other members theirs', () => {
    const result = toLegacyResult(
      Payload.fromBytes(
        Buffer.from(
          '{"n":12345678901234567890,"content":[{"type":"text","text":"a","n":1.0},{"type":"x"}],"_meta":{"k":1}}',
        ),
        'legacy',
      ),
      'tools/call',
      '2025-06-18',
    ).toString()
    assert.match(result, /"n":12345678901234567890/)
    assert.match(result, /\[\{"type":"text","text":"a","n":1\.0\},\{"type":"text",/)
    assert.match(result, /"_meta":\{"k":1\}/)
  })
})
