import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  OutputRing,
  cleanLine,
  cleanText,
  cutToBytes,
  TextCleaner,
} from '../../../../../plugins/agents/sandbox/text.ts'

const DIRTY: readonly [string, string][] = [
  ['plain \t text\nand more', 'plain \t text\nand more'],
  ['\u001b[31mred\u001b[0m', 'red'],
  ['\u001b]0;title\u0007after', 'after'],
  ['\u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\', 'link'],
  ['\u009b31mred', 'red'],
  ['\u001bPq#0\u001b\\sixel', 'sixel'],
  ['\u001b(Bascii', 'ascii'],
  ['a\r\nb\u0000\u0008c\u007f', 'a\nbc'],
  ['safe\u202etxt.exe', 'safe\\u202etxt.exe'],
  ['\u2066x\u2069', '\\u2066x\\u2069'],
  ['half \ud83d here', 'half \ufffd here'],
  ['end \ud83d', 'end \ufffd'],
  ['whole 😀', 'whole 😀'],
  ['\u001b]0;never ends\nnext line', '\nnext line'],
  ['\u001b\u001b[1mbold', 'bold'],
]

test('text of an agent has no control sequences, no turned directions and no half characters', () => {
  for (const [dirty, clean] of DIRTY) assert.equal(cleanText(dirty), clean)
})

test('text that comes in pieces is cleaned as if it came whole', () => {
  for (const [dirty, clean] of DIRTY) {
    for (let at = 0; at <= dirty.length; at++) {
      const cleaner = new TextCleaner()
      const parts = [dirty.slice(0, at), dirty.slice(at)].map(part => cleaner.push(part))
      assert.equal(parts.join('') + cleaner.end(), clean, `${JSON.stringify(dirty)} cut at ${at}`)
    }
  }
})

test('a sequence that never ends swallows 4096 characters at most', () => {
  const text = cleanText(`\u001b]0;${'x'.repeat(10_000)}`)

  assert.ok(text.length > 5000)
})

test('text is cut to bytes before a character, not inside of it', () => {
  assert.deepEqual(cutToBytes('añ😀', 7), { text: 'añ😀', truncated: false })
  assert.deepEqual(cutToBytes('añ😀', 6), { text: 'añ', truncated: true })
  assert.deepEqual(cutToBytes('añ😀', 2), { text: 'a', truncated: true })
  assert.deepEqual(cutToBytes('añ😀', 0), { text: '', truncated: true })
  assert.equal(cleanLine('a\nb\tc'), 'a b c')
  assert.equal(cleanLine('x'.repeat(300)).length, 201)
})

test('of output the start is dropped, up to a whole character', () => {
  const ring = new OutputRing(5)
  for (const byte of Buffer.from('abc😀x')) ring.push(Buffer.from([byte]))

  assert.deepEqual(ring.read(true), { output: '😀x', truncated: true })

  const growing = new OutputRing(100)
  growing.push(Buffer.from('é😀').subarray(0, 4))
  assert.deepEqual(growing.read(false), { output: 'é', truncated: false })
  growing.push(Buffer.from('é😀').subarray(4))
  assert.deepEqual(growing.read(false), { output: 'é😀', truncated: false })
})
