import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { adaptNotification, toLegacyFailure } from '../../../src/protocol/era/convert.ts'
import { LEGACY_VERSIONS, MODERN_VERSION, type ClientVersion } from '../../../src/protocol/methods.ts'
import { encodeAnswer } from '../../../src/listeners/client/client-protocol.ts'

const VERSIONS = [MODERN_VERSION, ...LEGACY_VERSIONS]

function reader(version: string): ClientVersion {
  return { era: version === MODERN_VERSION ? 'modern' : 'legacy', version, capabilities: {} }
}

/** The versions whose clients hear of it. */
function heardBy(method: string): string[] {
  return VERSIONS.filter(version => adaptNotification({ method, params: {} }, reader(version)) !== undefined)
}

describe('a notification goes to who has it in its version', () => {
  const cases: Record<string, readonly string[]> = {
    'notifications/elicitation/complete': ['2025-11-25'],
    'notifications/tasks/status': ['2025-11-25'],
    'notifications/tasks': [MODERN_VERSION],
    'notifications/subscriptions/acknowledged': [MODERN_VERSION],
    'notifications/message': VERSIONS,
    'notifications/resources/updated': VERSIONS,
    'notifications/tools/list_changed': VERSIONS,
    'notifications/example.com/own': VERSIONS,
  }
  for (const [method, versions] of Object.entries(cases))
    test(`${method}: ${versions.length === VERSIONS.length ? 'everybody' : versions.join(', ')}`, () => {
      assert.deepEqual(heardBy(method), versions)
    })

  test('progress has words from 2025-03-26 on', () => {
    const progress = {
      method: 'notifications/progress',
      params: { progressToken: 1, progress: 2, total: 3, message: 'half' },
    }
    for (const version of VERSIONS) {
      const told = adaptNotification(progress, reader(version))
      if (version >= '2025-03-26') assert.equal(told, progress)
      else assert.deepEqual(told?.params, { progressToken: 1, progress: 2, total: 3 })
    }
  })
})

describe('a call that lacks a capability (-32021)', () => {
  const error = {
    code: -32021,
    message: 'The client does not support sampling/createMessage',
    data: { requiredCapabilities: { sampling: {} } },
  }
  const sent = (method: string, version: string): Record<string, unknown> =>
    JSON.parse(encodeAnswer(1, method, { error }, reader(version)).toString()) as Record<string, unknown>

  test('is a tool result that failed, with what is missing in its text, for every legacy client', () => {
    for (const version of LEGACY_VERSIONS)
      assert.deepEqual(sent('tools/call', version).result, {
        content: [{ type: 'text', text: `${error.message} – required client capabilities: {"sampling":{}}` }],
        isError: true,
      })
  })

  test('is an internal error where there is no tool, and itself for modern clients', () => {
    assert.deepEqual(sent('prompts/get', '2025-11-25').error, { ...error, code: -32603 })
    assert.deepEqual(sent('tools/call', MODERN_VERSION).error, error)
    assert.equal(toLegacyFailure({ code: -32602, message: 'm' }, 'tools/call'), undefined)
  })
})
