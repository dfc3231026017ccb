import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { parseServerMessage } from '../../../src/protocol/jsonrpc.ts'
import { proveValue } from '../../../src/protocol/json/wasm/proof.ts'
import { isParsed } from './json-verdict.ts'

/** Text as tools send it: escapes, code, UTF-8, long runs without any, and what JSON forbids. */
const scrap = fc.constantFrom(
  '"',
  '\\',
  '\\"',
  '\\n',
  '\\u00e9',
  '\\/',
  'é',
  '日本',
  '{',
  '}',
  '[',
  ',',
  ':',
  ' ',
  '\n',
  '\t',
  '0',
  '1e9',
  '-',
  'true',
  '\u0001',
  '\\x',
  '\\u12',
  '',
)
const filler = fc.constantFrom(
  '',
  'x'.repeat(15),
  'x'.repeat(17),
  'y'.repeat(130),
  'z\n"'.repeat(90),
  '\\'.repeat(97),
  '"\u0001é🚀'.repeat(45),
  `${'\t'.repeat(9)}${'quiet '.repeat(20)}`.repeat(4),
)
const long = fc.array(fc.tuple(filler, fc.string()), { maxLength: 6 }).map(parts => parts.flat().join(''))
const value = fc.jsonValue({ maxDepth: 4 })
const document = fc.tuple(value, fc.array(long, { minLength: 1, maxLength: 4 }), fc.nat({ max: 3 }))

function textOf([inner, longs, space]: [unknown, string[], number]): string {
  return JSON.stringify({ inner, longs, again: [inner, [], {}] }, undefined, space)
}

function edited(text: string, edits: readonly (readonly [number, number, string])[]): string {
  for (const [place, length, put] of edits) {
    const at = place % (text.length + 1)
    text = text.slice(0, at) + put + text.slice(at + length)
  }
  return text
}

function isTaken(result: string): boolean {
  return parseServerMessage(Buffer.from(`{"jsonrpc":"2.0","id":1,"result":${result}}`)).kind === 'response'
}

const edit = fc.tuple(fc.nat(), fc.nat({ max: 3 }), scrap)
const RUNS = Number(process.env.FUZZ_RUNS ?? 3000)

describe('long JSON', () => {
  test('is decided as JSON.parse decides it, whatever was done to the text', () => {
    fc.assert(
      fc.property(document, fc.array(edit, { maxLength: 3 }), (made, edits) => {
        const text = edited(textOf(made), edits)
        assert.equal(isTaken(text), isParsed(text), text)
      }),
      { numRuns: RUNS },
    )
  })

  test('is refused where it is broken, in pieces of any size', () => {
    fc.assert(
      fc.property(document, fc.array(edit, { maxLength: 3 }), fc.integer({ min: 1, max: 70 }), (made, edits, first) => {
        const text = edited(textOf(made), edits)
        const bytes = Buffer.from(text)
        const end = proveValue(bytes, 0, bytes.length, 1, 0, first)
        if (end >= 0) assert.ok(isParsed(bytes.toString('utf8', 0, end)), text)
      }),
      { numRuns: RUNS },
    )
  })
})

test('a runtime without WebAssembly reads long JSON all the same', () => {
  const module = new URL('../../../src/protocol/jsonrpc.ts', import.meta.url).href
  const script = `
    const { parseServerMessage } = await import(${JSON.stringify(module)})
    delete globalThis.WebAssembly
    const read = text => parseServerMessage(Buffer.from('{"jsonrpc":"2.0","id":1,"result":' + text + '}')).kind
    const kind = read(JSON.stringify({ text: 'a\\n"'.repeat(2000), list: Array(20000).fill({ a: 1 }) }))
    console.log(typeof WebAssembly, kind, read('{"a":"' + 'a'.repeat(100000) + '\\t"}'))`
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', script]
  assert.equal(execFileSync(process.execPath, flags, { encoding: 'utf8' }).trim(), 'undefined response malformed')
})
