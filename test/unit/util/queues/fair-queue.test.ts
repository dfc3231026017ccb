import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FairQueue } from '../../../../src/util/queues/fair-queue.ts'

function drained(queue: FairQueue<string>): string {
  const all: string[] = []
  for (let next = queue.take(); next !== undefined; next = queue.take()) all.push(next)
  return all.join(' ')
}

test('callers take turns in a fair queue, and each of them is served in order', () => {
  const queue = new FairQueue<string>()
  for (const item of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) queue.add(item.charAt(0), item)

  assert.equal(queue.size, 6)
  assert.equal(drained(queue), 'a1 b1 c1 a2 b2 a3')
  assert.equal(queue.size, 0)
})

test('an item is taken out of turn, and once only', () => {
  const queue = new FairQueue<string>()
  for (const item of ['a1', 'a2', 'b1']) queue.add(item.charAt(0), item)

  assert.equal(queue.delete('a1'), true)
  assert.equal(queue.delete('a1'), false)
  assert.equal(queue.delete('c1'), false)
  assert.equal(queue.delete('b1'), true)

  assert.equal(queue.size, 1)
  assert.equal(drained(queue), 'a2')
})

test('an item that is put ahead comes before the others of its caller, and behind those put ahead earlier', () => {
  const queue = new FairQueue<string>()
  for (const item of ['a1', 'a2', 'b1']) queue.add(item.charAt(0), item)
  for (const item of ['a3', 'a4', 'c1']) queue.addAhead(item.charAt(0), item)

  assert.deepEqual([queue.ahead, queue.aheadOf('a'), queue.aheadOf('b'), queue.aheadOf('c')], [3, 2, 0, 1])
  assert.equal(queue.last('a'), 'a2')
  queue.delete('a4')
  queue.addAhead('a', 'a5')
  queue.add('c', 'c2')
  assert.deepEqual([queue.ahead, queue.aheadOf('a'), queue.sizeOf('a')], [3, 2, 4])

  assert.equal(drained(queue), 'a3 b1 c1 a5 c2 a1 a2')
  assert.deepEqual([queue.ahead, queue.aheadOf('a'), queue.size], [0, 0, 0])
})
