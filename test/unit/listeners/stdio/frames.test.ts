import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LineSplitter, replaceLineEnds } from '../../../../src/net/line-splitter.ts'

function split(maxLine = 1000): { lines: Buffer[]; tooLong: number[]; splitter: LineSplitter } {
  const lines: Buffer[] = []
  const tooLong: number[] = []
  const splitter = new LineSplitter({
    maxLine,
    onLine: line => lines.push(line),
    onTooLong: bytes => tooLong.push(bytes),
  })
  return { lines, tooLong, splitter }
}

test('lines come out whole, however the bytes were cut', () => {
  const text = '\uFEFF{"a":"ü"}\r\n\n{}\n  {"b":1}\r\n\r\n€uro\nlast'
  const bytes = Buffer.from(text)

  for (let size = 1; size <= bytes.length; size++) {
    const { lines, splitter } = split()
    for (let at = 0; at < bytes.length; at += size) splitter.push(bytes.subarray(at, at + size))
    splitter.end()
    assert.deepEqual(lines.map(String), ['{"a":"ü"}', '{}', '  {"b":1}', '€uro', 'last'], `pieces of ${size}`)
  }
})

test('a line that is too long is told of at once, skipped, and the next one is read', () => {
  const { lines, tooLong, splitter } = split(10)

  splitter.push(Buffer.from('0123456789\r\n01234567890\nfine\n'))
  splitter.push(Buffer.from('01234567'))
  splitter.push(Buffer.from('89abc'))
  const toldAt = tooLong.length
  splitter.push(Buffer.from('more and more'))
  splitter.push(Buffer.from('\nok\n'))
  splitter.end()

  assert.deepEqual(lines.map(String), ['0123456789', 'fine', 'ok'])
  assert.equal(toldAt, 2)
  assert.deepEqual(tooLong, [11, 13])
})

test('a JSON text is put on one line without touching one that is', () => {
  const flat = Buffer.from('{"a":1}')
  const broken = Buffer.from('{\r\n"a":\n1}')

  assert.equal(replaceLineEnds(flat), flat)
  assert.deepEqual(JSON.parse(String(replaceLineEnds(broken))), { a: 1 })
  assert.doesNotMatch(String(replaceLineEnds(broken)), /[\r\n]/)
  assert.equal(String(broken), '{\r\n"a":\n1}')
})
