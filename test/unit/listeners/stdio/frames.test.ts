import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LineSplitter, onOneLine } from '../../../../src/transport/line-splitter.ts'

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

test('a line that arrives whole is the same memory', () => {
  const { lines, splitter } = split()
  const chunk = Buffer.from('one\ntwo\n')

  splitter.push(chunk)

  assert.equal(lines[1]?.buffer, chunk.buffer)
  assert.equal(lines[1]?.byteOffset, chunk.byteOffset + 4)
})

test('a line that was handed out does not change when more comes', () => {
  const { lines, splitter } = split()

  for (const piece of ['on', 'e\nt', 'wo\nth', 'ree\n']) splitter.push(Buffer.from(piece))

  assert.deepEqual(lines.map(String), ['one', 'two', 'three'])
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

test('ten mebibytes that dribble in cost neither square time nor an object for each byte', () => {
  const { lines, splitter } = split(10 * 1024 * 1024)
  const piece = Buffer.from('abcdefg')
  const started = performance.now()

  for (let count = 0; count < 1_400_000; count++) splitter.push(piece)
  splitter.push(Buffer.alloc(100_000, 'x'))
  splitter.push(piece)
  splitter.push(Buffer.from('\n'))

  assert.equal(lines[0]?.length, 1_400_001 * 7 + 100_000)
  assert.equal(lines[0]?.subarray(-8).toString(), 'xabcdefg')
  assert.ok(performance.now() - started < 5000)
})

test('a JSON text is put on one line without touching one that is', () => {
  const flat = Buffer.from('{"a":1}')
  const broken = Buffer.from('{\r\n"a":\n1}')

  assert.equal(onOneLine(flat), flat)
  assert.deepEqual(JSON.parse(String(onOneLine(broken))), { a: 1 })
  assert.doesNotMatch(String(onOneLine(broken)), /[\r\n]/)
  assert.equal(String(broken), '{\r\n"a":\n1}')
})
