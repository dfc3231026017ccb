import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { checkJson, MAX_TOKENS } from '../../../src/protocol/json/check-json.ts'
import { parseServerMessage } from '../../../src/protocol/jsonrpc.ts'
import { ScanError } from '../../../src/protocol/json/scan-json.ts'
import { isParsed } from './json-verdict.ts'

function problemOf(text: string | Buffer): ScanError | undefined {
  try {
    checkJson(Buffer.from(text))
    return undefined
  } catch (error) {
    assert.ok(error instanceof ScanError, String(error))
    return error
  }
}

describe('what is JSON', () => {
  test('is decided as JSON.parse decides it, whatever was done to the text', () => {
    const scrap = fc.constantFrom('"', '\\', '{', '}', '[', ']', ',', ':', '0', '1', '-', '+', '.', 'e', 'E')
    const more = fc.constantFrom('t', 'tru', 'null', 'NaN', '\\u12', '\\ud800', '\t', '\u0001', ' ', '/', 'é', '')
    const edit = fc.tuple(fc.nat(), fc.nat({ max: 3 }), fc.oneof(scrap, more))
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.array(edit, { maxLength: 3 }), (value, edits) => {
        let text = JSON.stringify(value, undefined, edits.length)
        for (const [place, length, put] of edits) {
          const at = place % (text.length + 1)
          text = text.slice(0, at) + put + text.slice(at + length)
        }
        assert.equal(problemOf(text) === undefined, isParsed(text), text)
      }),
      { numRuns: 5000 },
    )
  })

  test('leaves out literals, numbers, escapes and control characters that others take', () => {
    const wrong = [
      'tru',
      'True',
      'nulll',
      'NaN',
      'Infinity',
      'undefined',
      '01',
      '-',
      '+1',
      '.5',
      '1.',
      '1e',
      '0x1',
      "'a'",
    ]
    const strings = ['"\\x41"', '"\\u00g0"', '"\\u12"', '"a\tb"', '"a\nb"', '"\u0000"', '"\\', '"\\"', '"']
    const nested = ['[1,]', '[,1]', '[1 2]', '{"a":1,}', '{"a"}', '{a:1}', '{"a":1 "b":2}', '[1}', '{"a":]', '[', '//']
    for (const text of [...wrong, ...strings, ...nested, '', ' '])
      assert.equal(problemOf(text)?.isSyntax, true, JSON.stringify(text))
  })

  test('finds a control character at every place of a long string', () => {
    for (let place = 0; place < 80; place++) {
      const text = `"${'x'.repeat(place)}\n${'x'.repeat(80 - place)}"`
      assert.equal(problemOf(text)?.isSyntax, true, String(place))
    }
    assert.equal(problemOf(`"${'é–😀'.repeat(40)}\\"\\u0041"`), undefined)
  })
})

describe('what costs too much to parse', () => {
  const deep = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels)

  test('nests deeper than 64', () => {
    assert.equal(problemOf(deep(64)), undefined)
    assert.match(problemOf(deep(65))?.message ?? '', /nested deeper than 64/)
    assert.equal(problemOf(deep(65))?.isSyntax, false)
  })

  test('has more than a million names and values', () => {
    const list = (count: number): string => `[${'0,'.repeat(count - 2)}0]`
    assert.equal(problemOf(list(MAX_TOKENS)), undefined)
    assert.match(problemOf(list(MAX_TOKENS + 1))?.message ?? '', /1,000,000 names and values/)
    assert.match(problemOf(`[${'[],'.repeat(MAX_TOKENS)}0]`)?.message ?? '', /1,000,000/)
    assert.match(problemOf(`{${'"a":0,'.repeat(MAX_TOKENS / 2)}"b":1}`)?.message ?? '', /1,000,000/)
  })

  test('is refused without being parsed, and within a millisecond where it is too deep', t => {
    const parse = t.mock.method(JSON, 'parse')
    const open = Buffer.from('['.repeat(4 * 1024 * 1024))
    const inside = Buffer.concat([Buffer.from('{"jsonrpc":"2.0","id":7,"result":{"x":'), open])
    for (const bytes of [open, inside]) {
      const message = parseServerMessage(bytes)
      assert.equal(message.kind === 'malformed' && message.error.code, -32600)
    }
    assert.ok(parse.mock.calls.every(({ arguments: [text] }) => text.length < 10))
    const took = Math.min(...Array.from({ length: 20 }, () => millisecondsOf(() => parseServerMessage(inside))))
    assert.ok(took <= 1, `${took} ms`)
  })
})

function millisecondsOf(work: () => unknown): number {
  const start = performance.now()
  work()
  return performance.now() - start
}
