import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FairQueue } from '../../../src/util/fair-queue.ts'

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

  assert.equal(queue.delete('a', 'a1'), true)
  assert.equal(queue.delete('a', 'a1'), false)
  assert.equal(queue.delete('c', 'c1'), false)
  assert.equal(queue.delete('b', 'b1'), true)

  assert.equal(queue.size, 1)
  assert.equal(drained(queue), 'a2')
})
