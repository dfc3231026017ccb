import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LineSplitter } from '../../../../src/net/line-splitter.ts'

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
