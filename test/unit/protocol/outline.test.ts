import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { LongText, outlineOf } from '../../../src/protocol/json/outline.ts'
import { isObject, type JsonObject } from '../../../src/protocol/json/json.ts'
import { shapeOf } from '../../../src/protocol/json/shape.ts'
import { parseMessage } from '../../../src/protocol/jsonrpc.ts'
import { argumentsOutline, argumentsShape, unreadBytes } from '../../../src/protocol/unread-arguments.ts'

const BOUNDS = { depth: 3, members: 65 }
const LONG = 'é "\n🚀'.repeat(5000)

function outline(value: unknown, space = 0): unknown {
  return outlineOf(Buffer.from(JSON.stringify(value, undefined, space)), BOUNDS)
}

function paramsOf(args: unknown): JsonObject {
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'm', params: { name: 'n', arguments: args } })
  const message = parseMessage(Buffer.from(text))
  assert.ok(message.kind === 'request' && message.params !== undefined)
  return message.params
}

describe('the outline of a value', () => {
  test('has its names and small values, and the length of texts and lists', () => {
    const shown = outline(
      { path: 'a.ts', 'näme "x"': LONG, rows: [{ a: [1, 2] }, LONG, 3], n: 1.5, none: null },
      2,
    )
    assert.ok(isObject(shown))
    assert.equal(shown.path, 'a.ts')
    assert.deepEqual(shown['näme "x"'], new LongText(LONG.length))
    assert.ok(Array.isArray(shown.rows) && shown.rows.length === 3)
    assert.deepEqual([shown.n, shown.none], [1.5, null])
  })

  test('shows objects as deep as it was asked to, and no more members than that', () => {
    const many = Object.fromEntries(Array.from({ length: 5000 }, (_, nth) => [`m${nth}`, nth]))
    const shown = outline({ a: { b: { c: { d: 1 } } }, many })
    assert.ok(isObject(shown) && isObject(shown.many))
    assert.equal(Object.keys(shown.many).length, 65)
    assert.equal(JSON.stringify(shown.a), '{"b":{"c":{}}}')
  })

  test('takes a name for a name, whatever it is', () => {
    const shown = outlineOf(Buffer.from('{"__proto__":{"x":1},"constructor":2}'), BOUNDS)
    assert.ok(isObject(shown))
    assert.deepEqual(Object.keys(shown), ['__proto__', 'constructor'])
    assert.equal(({} as JsonObject).x, undefined)
  })

  test('gives arguments the same shape as their values do', () => {
    const args = {
      text: LONG,
      deep: { a: { b: { c: 1 } } },
      list: [1, [2]],
      yes: true,
      no: null,
      __proto__: 1,
      e: {},
    }
    const params = paramsOf(args)
    assert.equal(argumentsShape(params), shapeOf(args))
    assert.ok(unreadBytes(params) !== undefined, 'they are still unread')
    assert.equal(argumentsShape(paramsOf({ a: 1 })), '{"a":"number"}')
    assert.equal(argumentsShape(undefined), undefined)
  })

  test('is the arguments themselves where they are small, or were read', () => {
    const small = paramsOf({ a: 'x' })
    assert.equal(argumentsOutline(small, BOUNDS), small.arguments)
    const large = paramsOf({ text: LONG })
    const value = large.arguments
    assert.equal(argumentsOutline(large, BOUNDS), value)
  })
})

test('a result that was read as a message knows whether a tool reports a failure in it', () => {
  const isToolError = (result: string): boolean | undefined => {
    const message = parseMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`), 'legacy')
    return message.kind === 'response' ? message.result?.isToolError : undefined
  }
  assert.equal(isToolError('{"content":[],"isError":true}'), true)
  assert.equal(isToolError('{"isErr\\u006fr" : true ,"content":[]}'), true)
  assert.equal(isToolError('{"content":[],"isError":false}'), false)
  assert.equal(isToolError('{"content":[{"isError":true}]}'), false)
  assert.equal(isToolError('{"isError":"true","text":"\\"isError\\":true"}'), false)
  assert.equal(isToolError('{}'), false)
  assert.equal(isToolError('[]'), undefined)
})
