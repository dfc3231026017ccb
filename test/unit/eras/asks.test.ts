import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { adaptRequest, adaptReply, toModernAsk } from '../../../src/protocol/era/client-requests.ts'
import { findMissingCapabilities, normalizeCapabilities } from '../../../src/protocol/era/capabilities.ts'
import type { ClientVersion } from '../../../src/protocol/methods.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'

const reader = (version: string, capabilities: JsonObject = {}): ClientVersion => ({
  era: version === '2026-07-28' ? 'modern' : 'legacy',
  version,
  capabilities,
})
const OLD = reader('2025-06-18')

function elicitation(params: JsonObject): { method: string; params: JsonObject } {
  return { method: 'elicitation/create', params }
}

describe('an ask for the model of a client', () => {
  const use = { type: 'tool_use', id: 'u', name: 'weather', input: { city: 'Oslo' } }
  const sampling = (params: JsonObject): { method: string; params: JsonObject } => ({
    method: 'sampling/createMessage',
    params,
  })

  test('has one block to a message, and blocks that the version has', () => {
    const messages = [
      { role: 'user', content: [{ type: 'text', text: 'a' }, use] },
      { role: 'user', content: { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' } },
    ]
    const at = (version: string): JsonObject[] =>
      adaptRequest(sampling({ messages }), reader(version)).ask.params?.messages as JsonObject[]
    const types = (version: string): unknown[] => at(version).map(({ content }) => (content as JsonObject).type)

    assert.deepEqual(types('2025-06-18'), ['text', 'text', 'audio'])
    assert.deepEqual(types('2024-11-05'), ['text', 'text', 'text'])
    assert.match(String((at('2025-06-18')[1]?.content as JsonObject).text), /tool_use.*weather.*Oslo/s)
    assert.deepEqual(at('2025-11-25'), messages)
  })

  test('has tools only for who has them; what needs them is refused before', () => {
    const declared = normalizeCapabilities({ ...OLD, capabilities: { sampling: { tools: {} } } })
    const needing = { messages: [], tools: [{ name: 't' }] }
    const sparing = [
      { messages: [], tools: [] },
      { messages: [], tools: [{ name: 't' }], toolChoice: { mode: 'none' } },
      { messages: [], toolChoice: { mode: 'auto' } },
    ]
    assert.deepEqual(findMissingCapabilities(declared, 'sampling/createMessage', needing), {
      sampling: { tools: {} },
    })
    for (const params of sparing) {
      assert.equal(findMissingCapabilities(declared, 'sampling/createMessage', params), undefined)
      assert.deepEqual(adaptRequest(sampling(params), OLD).ask.params, { messages: [] })
    }
    const newer = reader('2026-07-28', { sampling: { tools: {} } })
    assert.deepEqual(adaptRequest(sampling(needing), newer).ask.params, needing)
    assert.deepEqual(adaptRequest(sampling(sparing[1] ?? {}), reader('2026-07-28', { sampling: {} })).ask.params, {
      messages: [],
    })
  })

  test('is answered to an older server with one block', () => {
    const text = (words: string): JsonObject => ({ type: 'text', text: words })
    const reply = (content: unknown, version: string): unknown =>
      adaptReply('sampling/createMessage', { role: 'assistant', content }, version).content
    const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' }

    assert.deepEqual(reply([text('a')], '2025-06-18'), text('a'))
    assert.deepEqual(reply([text('a'), image, text('b')], '2025-06-18'), text('a\n[image omitted]\nb'))
    assert.match(String((reply(use, '2025-06-18') as JsonObject).text), /tool_use/)
    assert.equal((reply({ type: 'audio', data: '' }, '2024-11-05') as JsonObject).type, 'text')
    assert.deepEqual(reply([text('a'), image], '2025-11-25'), [text('a'), image])
    assert.equal(reply(undefined, '2025-06-18'), undefined)
  })
})

test('an ask that becomes input loses its id and its token, and nothing else', () => {
  const params = { mode: 'url', url: 'x:y', elicitationId: '1', _meta: { progressToken: 1, trace: 2 } }
  assert.deepEqual(toModernAsk(elicitation(params)).params, { mode: 'url', url: 'x:y', _meta: { trace: 2 } })
  assert.deepEqual(toModernAsk({ method: 'roots/list', params: undefined }).params, {})
})
