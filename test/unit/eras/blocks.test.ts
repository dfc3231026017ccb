import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { adaptBlock, adaptMessage } from '../../../src/protocol/era/content-blocks.ts'
import { toLegacyResult } from './whole.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { Payload } from '../../../src/protocol/payload.ts'
import { LEGACY_VERSIONS, type Era } from '../../../src/protocol/methods.ts'

const BLOCKS: Readonly<Record<string, JsonObject>> = {
  text: { type: 'text', text: 'hello' },
  image: { type: 'image', data: 'AAAA', mimeType: 'image/png' },
  resource: { type: 'resource', resource: { uri: 'file:///a', text: 'a' } },
  audio: { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
  resource_link: { type: 'resource_link', uri: 'file:///a', name: 'a' },
  hologram: { type: 'hologram', beams: [1] },
}

/** The content types each version has. */
const HAS: Readonly<Record<string, readonly string[]>> = {
  '2025-11-25': ['text', 'image', 'resource', 'audio', 'resource_link', 'hologram'],
  '2025-06-18': ['text', 'image', 'resource', 'audio', 'resource_link'],
  '2025-03-26': ['text', 'image', 'resource', 'audio'],
  '2024-11-05': ['text', 'image', 'resource'],
  '2024-10-07': ['text', 'image', 'resource'],
}

function sent(value: JsonObject, method: string, version: string, era: Era = 'legacy'): JsonObject {
  const bytes = Buffer.from(JSON.stringify(value))
  return JSON.parse(toLegacyResult(Payload.fromBytes(bytes, era), method, version).toString()) as JsonObject
}

describe('a content block goes to a legacy client', () => {
  for (const version of LEGACY_VERSIONS) {
    for (const [type, block] of Object.entries(BLOCKS)) {
      const has = HAS[version]?.includes(type) === true
      test(`${type} at ${version} ${has ? 'as it is' : 'as text'}`, () => {
        const changed = adaptBlock(block, version)
        if (has) assert.equal(changed, block)
        else assert.equal(changed.type, 'text')
        assert.deepEqual(sent({ content: [block] }, 'tools/call', version), { content: [changed] })
        assert.deepEqual(sent({ messages: [{ role: 'user', content: block }] }, 'prompts/get', version), {
          messages: [{ role: 'user', content: changed }],
        })
      })
    }
  }

  test('with its annotations and _meta', () => {
    const annotations = { audience: ['user'] }
    const _meta = { 'example.com/x': 1 }
    const { text: _text, ...kept } = adaptBlock({ ...BLOCKS.audio, annotations, _meta }, '2024-11-05')
    assert.deepEqual(kept, { type: 'text', annotations, _meta })
  })
})

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

describe('a prompt', () => {
  test('may have a list of blocks in a message', () => {
    const message = { role: 'user', content: [BLOCKS.text, BLOCKS.resource_link], x: 1 }
    assert.deepEqual(adaptMessage(message, '2025-03-26'), {
      role: 'user',
      content: [BLOCKS.text, { type: 'text', text: '[resource link "a": file:///a]' }],
      x: 1,
    })
  })
})
