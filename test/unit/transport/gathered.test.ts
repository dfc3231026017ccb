import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { Gathered, release } from '../../../src/transport/gathered.ts'

/** A chunk that is all there is in its memory, as sockets and pipes give them. */
function chunkOf(text: string): Buffer {
  const chunk = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  chunk.write(text)
  return chunk
}

const large = 'x'.repeat(5000)

describe('a text that arrives in chunks', () => {
  test('is what all of them are together, whatever was reserved, one text after the other', () => {
    const step = fc.oneof(
      fc.record({ push: fc.oneof(fc.string(), fc.constant(large)) }),
      fc.record({ reserve: fc.nat({ max: 20_000 }) }),
      fc.record({ take: fc.string() }),
      fc.constant({ forget: true }),
    )
    fc.assert(
      fc.property(fc.array(step), fc.boolean(), (steps, ownsChunks) => {
        const gathered = new Gathered(ownsChunks)
        const taken: Buffer[] = []
        const expected: string[] = []
        let text = ''
        for (const one of steps) {
          if ('push' in one) {
            gathered.push(chunkOf(one.push))
            text += one.push
          } else if ('reserve' in one) gathered.reserve(one.reserve)
          else if ('take' in one) {
            taken.push(gathered.take(chunkOf(one.take)))
            expected.push(text + one.take)
            text = ''
          } else {
            gathered.forget()
            text = ''
          }
          assert.equal(gathered.length, Buffer.byteLength(text))
        }
        assert.deepEqual(taken.map(String), expected)
      }),
    )
  })

  test('is the chunk itself where there is only one', () => {
    const gathered = new Gathered()
    const chunk = chunkOf('all of it')

    gathered.push(chunk)

    assert.equal(gathered.take().buffer, chunk.buffer)
  })

  test('leaves chunks as they are that somebody else holds', () => {
    const gathered = new Gathered()
    const chunks = [chunkOf('one'), chunkOf(' two'), chunkOf(' three')]

    for (const chunk of chunks) gathered.push(chunk)

    assert.equal(String(gathered.take()), 'one two three')
    assert.deepEqual(chunks.map(String), ['one', ' two', ' three'])
  })

  test('gives the memory back when it is forgotten, and when what was handed out is released', () => {
    const chunk = 'x'.repeat(64 * 1024)
    const { arrayBuffers } = process.memoryUsage()

    for (let n = 0; n < 100; n++) {
      const gathered = new Gathered(true)
      for (let piece = 0; piece < 5; piece++) gathered.push(chunkOf(chunk))
      if (n % 2 === 0) gathered.forget()
      else release(gathered.take())
    }

    assert.ok(process.memoryUsage().arrayBuffers - arrayBuffers < 1024 * 1024)
  })
})

test('to release a part of a chunk frees nothing, as the rest of it may be in use', () => {
  const chunk = chunkOf('one two')

  release(chunk.subarray(0, 3))

  assert.equal(String(chunk), 'one two')
})
