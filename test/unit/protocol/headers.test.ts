import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import {
  decodeHeaderValue,
  encodeHeaderValue,
  findHeaderMismatch,
  parseParamHeaders,
  getParamHeaders,
  findParamMismatch,
  createStandardHeaders,
} from '../../../src/protocol/headers.ts'
import { META } from '../../../src/protocol/methods.ts'

describe('header values', () => {
  test('come back as they went, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), value =>
        assert.equal(decodeHeaderValue(encodeHeaderValue(value)), value),
      ),
    )
  })
  test('are plain where they can be, and never carry a line break', () => {
    assert.equal(encodeHeaderValue('get_sum'), 'get_sum')
    for (const value of [' x', 'x\r\ny: z', 'é', '', '=?base64?eA==?='])
      assert.match(encodeHeaderValue(value), /^=\?base64\?[\w+/=]*\?=$/)
  })
  test('with broken base64 are refused', () => {
    assert.equal(decodeHeaderValue('=?base64?a?='), undefined)
  })
})

describe('the standard headers', () => {
  const params = { name: 'tool', _meta: { [META.protocolVersion]: '2026-07-28' } }
  test('agree with the body they were made from', () => {
    assert.equal(
      findHeaderMismatch(createStandardHeaders('tools/call', params, '2026-07-28'), 'tools/call', params),
      undefined,
    )
  })
  test('that are missing or differ are refused', () => {
    const headers = createStandardHeaders('tools/call', params, '2026-07-28')
    for (const name of Object.keys(headers))
      for (const value of [undefined, 'other'])
        assert.equal(findHeaderMismatch({ ...headers, [name]: value }, 'tools/call', params)?.code, -32020)
  })
})

describe('mirrored parameters', () => {
  const schema = {
    type: 'object',
    properties: {
      region: { type: 'string', 'x-mcp-header': 'Region' },
      deep: { type: 'object', properties: { n: { type: 'integer', 'x-mcp-header': 'N' } } },
    },
  }
  const annotations = parseParamHeaders(schema) ?? []

  test('are found at any depth and written as headers', () => {
    assert.deepEqual(getParamHeaders(annotations, { region: 'é', deep: { n: 5 } }), {
      'mcp-param-region': '=?base64?w6k=?=',
      'mcp-param-n': '5',
    })
    assert.deepEqual(getParamHeaders(annotations, { region: null }), {})
  })
  test('must agree with the arguments; whole numbers are compared as numbers', () => {
    assert.equal(findParamMismatch(annotations, { 'mcp-param-n': '5.0' }, { deep: { n: 5 } }), undefined)
    assert.equal(findParamMismatch(annotations, { 'mcp-param-n': '6' }, { deep: { n: 5 } })?.code, -32020)
    assert.equal(findParamMismatch(annotations, {}, { region: 'x' })?.code, -32020)
    assert.equal(findParamMismatch(annotations, { 'mcp-param-region': 'x' }, {})?.code, -32020)
    assert.equal(findParamMismatch(annotations, { 'mcp-param-unknown': 'x' }, {}), undefined)
  })
  test('with an invalid annotation make the tool unfit for HTTP', () => {
    for (const property of [
      { type: 'number', 'x-mcp-header': 'A' },
      { type: 'string', 'x-mcp-header': 'a b' },
      { type: 'string', 'x-mcp-header': '' },
    ]) {
      assert.equal(parseParamHeaders({ properties: { property } }), undefined)
    }
    const twice = { a: { type: 'string', 'x-mcp-header': 'X' }, b: { type: 'string', 'x-mcp-header': 'x' } }
    assert.equal(parseParamHeaders({ properties: twice }), undefined)
  })
})
