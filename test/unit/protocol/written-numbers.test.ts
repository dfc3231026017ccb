import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { getParamHeaders, parseParamHeaders, findParamMismatch } from '../../../src/protocol/headers.ts'
import { type JsonObject, stringifyNumbers } from '../../../src/protocol/json/json.ts'
import { parseMessage } from '../../../src/protocol/jsonrpc.ts'

const NUMBERS = ['9007199254740993', '-9007199254740993', '1234567890123456789', '1e400', '-0', '1.50', '7']

function received(params: string): JsonObject {
  const message = parseMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`))
  return message.kind === 'request' && message.params !== undefined ? message.params : assert.fail()
}

describe('a number that is repeated in a header', () => {
  const annotations =
    parseParamHeaders({ properties: { n: { type: 'integer', 'x-mcp-header': 'N' } } }) ?? assert.fail()
  const argumentsOf = (number: string): unknown => {
    const params = received(`{"name":"a__b","arguments":{"n":${number}}}`)
    return stringifyNumbers({ ...params, name: 'b' }, params)?.arguments
  }

  for (const number of NUMBERS)
    test(`says ${number} as the body does`, () => {
      assert.deepEqual(getParamHeaders(annotations, argumentsOf(number)), { 'mcp-param-n': number })
      assert.equal(findParamMismatch(annotations, { 'mcp-param-n': number }, argumentsOf(number)), undefined)
    })

  test('is another one where JavaScript alone takes it for the same', () => {
    for (const [header, body] of [
      ['9007199254740992', '9007199254740993'],
      ['9007199254740993', '9007199254740992'],
      ['1e401', '1e400'],
      ['1234567890123456800', '1234567890123456789'],
      ['-7', '7'],
    ] as const)
      assert.equal(findParamMismatch(annotations, { 'mcp-param-n': header }, argumentsOf(body))?.code, -32020, header)
    for (const [header, body] of [
      ['7.0', '7'],
      ['7', '7.00'],
      ['0', '-0'],
      ['1000', '1e3'],
      ['0.7e1', '7'],
    ] as const)
      assert.equal(findParamMismatch(annotations, { 'mcp-param-n': header }, argumentsOf(body)), undefined, header)
  })
})
