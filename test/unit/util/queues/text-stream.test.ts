import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TextStream } from '../../../../src/util/queues/text-stream.ts'

test('parts are read in their order, also those that come while somebody reads', async () => {
  const stream = new TextStream()
  stream.add('a')
  const read = partsOf(stream)
  await Promise.resolve()

  stream.add('b')
  stream.end('c')

  assert.deepEqual(await read, ['a', 'b', 'c'])
})

test('nothing is read after the end', async () => {
  const stream = new TextStream()
  stream.end('the end')

  stream.add('late')
  stream.end('twice')

  assert.equal(stream.hasRoom, false)
  assert.deepEqual(await partsOf(stream), ['the end'])
})

test('a reader that is too slow misses parts, and never the end', async () => {
  const many = new TextStream()
  for (let i = 0; i < 2000; i++) many.add(String(i))
  const large = new TextStream()
  for (let i = 0; i < 4; i++) large.add('x'.repeat(600_000))

  assert.deepEqual([many.hasRoom, large.hasRoom], [false, false])
  many.end('the end')
  large.end('the end')

  const [read, readLarge] = [await partsOf(many), await partsOf(large)]
  assert.deepEqual([read.length, read.at(1023), read.at(-1)], [1025, '1023', 'the end'])
  assert.deepEqual([readLarge.length, readLarge.at(-1)], [3, 'the end'])
})

test('a reader that has caught up misses nothing more', async () => {
  const stream = new TextStream()
  const reader = stream[Symbol.asyncIterator]()
  stream.add('x'.repeat(2_000_000))
  stream.add('left out')
  await reader.next()

  stream.add('heard')

  assert.equal((await reader.next()).value, 'heard')
})

async function partsOf(stream: TextStream): Promise<string[]> {
  const parts: string[] = []
  for await (const part of stream) parts.push(part)
  return parts
}
