import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { toLegacyError } from '../../../src/protocol/era/convert-to-legacy.ts'
import { toModernError } from '../../../src/protocol/era/convert-to-modern.ts'
import { getNewestVersion, LEGACY_VERSIONS, type ClientVersion } from '../../../src/protocol/methods.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'

const URLS = {
  code: -32042,
  message: 'Authorize first',
  data: {
    elicitations: [
      { mode: 'url', url: 'https://example.com/a', elicitationId: '1', message: 'm' },
      { mode: 'url', url: 'https://example.com/b' },
      { mode: 'form' },
      null,
    ],
  },
}
const WORDS = 'Authorize first – open first: https://example.com/a https://example.com/b'

function reader(version: string, capabilities: JsonObject = {}): ClientVersion {
  return { era: 'legacy', version, capabilities }
}

describe('the wish for a URL to be opened (-32042)', () => {
  test('has its URLs in the text for every other client', () => {
    const capabilities = { elicitation: { url: {} } }
    const others = [
      ...LEGACY_VERSIONS.slice(1).map(version => reader(version, capabilities)),
      reader('2025-11-25'),
      reader('2025-11-25', { elicitation: {} }),
      reader('2025-11-25', { elicitation: { form: {} } }),
    ]
    for (const other of others)
      assert.deepEqual(toLegacyError(URLS, other), { code: -32603, message: WORDS, data: URLS.data })
    assert.deepEqual(toModernError(URLS), { code: -32603, message: WORDS, data: URLS.data })
  })
})

describe('a resource that is not there', () => {
  const missing = { code: -32602, message: 'Resource not found', data: { uri: 'a:b' } }

  test('is not what every bad parameter is', () => {
    assert.equal(toLegacyError(missing, getNewestVersion('legacy'), 'tools/call'), missing)
    const other = { code: -32602, message: 'bad' }
    assert.equal(toLegacyError(other, getNewestVersion('legacy'), 'resources/read'), other)
  })
})

describe('other errors toward a legacy client', () => {
  test('that only the modern era has become internal, with their data', () => {
    for (const code of [-32020, -32021, -32022])
      assert.deepEqual(toLegacyError({ code, message: 'm', data: [1] }), {
        code: -32603,
        message: 'm',
        data: [1],
      })
  })

  test('pass as they came', () => {
    for (const code of [-32000, -32001, -32002, -32019, -32601, -32603, -32700, 5]) {
      const error = { code, message: 'm', data: { x: 1 } }
      assert.equal(toLegacyError(error, getNewestVersion('legacy'), 'tools/call'), error)
    }
  })
})
