import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { toLegacyParams } from '../../../src/protocol/era/convert-to-legacy.ts'
import { toLegacyResult, toModernResult } from './whole.ts'
import { findEnvelopeError, toModernError, toModernParams } from '../../../src/protocol/era/convert-to-modern.ts'
import { META, looksModern, negotiateLegacy, getNewestVersion } from '../../../src/protocol/methods.ts'
import { Payload } from '../../../src/protocol/payload.ts'
import { encodeAnswer } from '../../../src/listeners/client/encode-answer.ts'

const client = { info: { name: 'c', version: '1' }, capabilities: { roots: {} }, logLevel: 'info' }

describe('a result crosses eras', () => {
  test('in pieces of the bytes that came, where it is large', () => {
    const text = JSON.stringify({ content: [{ type: 'text', text: 'x'.repeat(100_000) }], isError: false })
    for (const [era, reader, from] of [
      ['legacy', 'modern', text],
      ['modern', 'legacy', `{"resultType":"complete",${text.slice(1)}`],
    ] as const) {
      const bytes = Buffer.from(from)
      const message = encodeAnswer(1, 'tools/call', { result: Payload.fromBytes(bytes, era) }, getNewestVersion(reader))
      assert.ok(Array.isArray(message))
      const pieces = message as readonly Buffer[]
      const copied = pieces.filter(({ buffer }) => buffer !== bytes.buffer)
      assert.ok(Buffer.concat(copied).length < 100, `${Buffer.concat(copied).length} bytes were copied`)
      const { result } = JSON.parse(Buffer.concat(pieces).toString()) as { result: object }
      const type = reader === 'modern' ? { resultType: 'complete' } : {}
      assert.deepEqual(result, { ...type, ...(JSON.parse(text) as object) })
    }
  })

  test('legacy to legacy and modern to modern as the same bytes', () => {
    const bytes = Buffer.from('{"content":[],"x-vendor":1}')
    assert.equal(toLegacyResult(Payload.fromBytes(bytes, 'legacy')), bytes)
    assert.equal(toModernResult(Payload.fromBytes(bytes, 'modern'), 'tools/call'), bytes)
  })

  test('legacy to modern with resultType put in, and nothing else touched', () => {
    const result = toModernResult(Payload.fromBytes(Buffer.from('{ "content" : [ ] }'), 'legacy'), 'tools/call')
    assert.equal(result.toString(), '{"resultType":"complete","content" : [ ]}')
  })

  test('legacy to modern with freshness where the method has it', () => {
    const result = toModernResult(Payload.fromBytes(Buffer.from('{"contents":[]}'), 'legacy'), 'resources/read')
    assert.deepEqual(JSON.parse(result.toString()), {
      resultType: 'complete',
      ttlMs: 0,
      cacheScope: 'private',
      contents: [],
    })
  })
})

describe('parameters cross eras', () => {
  test('toward a modern server with the client in the envelope', () => {
    const params = toModernParams(
      { name: 'x', _meta: { traceparent: 't', progressToken: 'theirs' } },
      client,
      '2026-07-28',
      7,
    )
    assert.deepEqual(params._meta, {
      traceparent: 't',
      progressToken: 7,
      [META.protocolVersion]: '2026-07-28',
      [META.clientInfo]: client.info,
      [META.clientCapabilities]: client.capabilities,
      [META.logLevel]: 'info',
    })
  })

  test('toward a legacy server with the envelope taken off and vendor keys kept', () => {
    const modern = toModernParams({ name: 'x', _meta: { traceparent: 't' } }, client, '2026-07-28', undefined)
    assert.deepEqual(toLegacyParams(modern, undefined), { name: 'x', _meta: { traceparent: 't' } })
    assert.deepEqual(toLegacyParams({ a: 1, _meta: { progressToken: 'p' } }, undefined), { a: 1 })
    assert.equal(toLegacyParams(undefined, undefined), undefined)
  })
})

describe('errors cross eras', () => {
  test('a missing resource has the code of each era', () => {
    assert.equal(toModernError({ code: -32002, message: 'x' }).code, -32602)
  })
  test('implementation codes of old servers become internal errors, with the original in data', () => {
    assert.deepEqual(toModernError({ code: -32000, message: 'x', data: 1 }), {
      code: -32603,
      message: 'x',
      data: { upstream: { code: -32000, data: 1 } },
    })
  })
})

describe('the modern envelope', () => {
  const meta = (change: object): object => ({
    [META.protocolVersion]: '2026-07-28',
    [META.clientCapabilities]: {},
    ...change,
  })
  test('needs a version and capabilities', () => {
    assert.equal(findEnvelopeError({ _meta: meta({}) }), undefined)
    for (const _meta of [
      undefined,
      {},
      meta({ [META.protocolVersion]: 1 }),
      meta({ [META.clientCapabilities]: [] }),
      meta({ [META.clientInfo]: 'x' }),
      meta({ [META.logLevel]: 'loud' }),
    ]) {
      assert.equal(findEnvelopeError({ _meta })?.code, -32602)
    }
  })
})

test('versions: what a client asks for is echoed if we speak it', () => {
  assert.equal(negotiateLegacy('2024-11-05'), '2024-11-05')
  assert.equal(negotiateLegacy('1999-01-01'), '2025-11-25')
  assert.equal(negotiateLegacy('2026-07-28'), '2025-11-25')
  assert.equal(looksModern('2027-01-01'), true)
  assert.equal(looksModern('2025-11-25'), false)
})
