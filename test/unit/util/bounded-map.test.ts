import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BoundedMap } from '../../../src/util/bounded-map.ts'

test('a look does not keep an entry, a use does', () => {
  const map = new BoundedMap<string, number>({ max: 2 })
  map.set('a', 1)
  map.set('b', 2)
  assert.equal(map.get('a'), 1)
  map.set('c', 3)
  assert.equal(map.has('a'), false)
  assert.equal(map.use('b'), 2)
  map.set('d', 4)
  assert.deepEqual([...map.values()], [2, 4])
  assert.equal(map.use('nothing'), undefined)
})

test('one caller fills the map, and another still has what it had', () => {
  const map = new BoundedMap<string, number>({ max: 100, share: 10 })
  map.set('mine', 0, 'quiet')
  for (let i = 0; i < 1000; i++) map.set(`flood ${i}`, i, 'loud')
  assert.equal(map.get('mine'), 0)
  assert.equal(map.countEntries('loud'), 10)
  assert.equal(map.get('flood 999'), 999)
  assert.equal(map.has('flood 989'), false)
  assert.equal(map.size, 11)
})

test('a caller that is at its share loses what it used longest ago', () => {
  const map = new BoundedMap<string, number>({ max: 100, share: 2 })
  map.set('a', 1, 'one')
  map.set('b', 2, 'one')
  map.use('a')
  map.set('c', 3, 'one')
  assert.deepEqual([...map.keys()], ['a', 'c'])
})

test('weight is bounded, and what is too heavy alone pushes out nothing', () => {
  const map = new BoundedMap<string, string>({ max: 100, maxWeight: 10 })
  for (const key of ['a', 'b', 'c']) map.set(key, key, undefined, 4)
  assert.deepEqual([...map.keys()], ['b', 'c'])
  map.set('huge', 'huge', undefined, 11)
  assert.deepEqual([...map.keys()], ['b', 'c'])
  assert.equal(map.weight, 8)
})

test('what is pushed out is reported, what is deleted or replaced is not', () => {
  const forgotten: [string, number][] = []
  const map = new BoundedMap<string, number>({
    max: 1,
    onForget: (key, value) => forgotten.push([key, value]),
  })
  map.set('a', 1)
  map.set('a', 2)
  map.delete('a')
  assert.equal(map.delete('a'), false)
  map.set('b', 3)
  map.set('c', 4)
  assert.deepEqual(forgotten, [['b', 3]])
  map.clear()
  assert.deepEqual([map.size, map.weight, forgotten.length], [0, 0, 1])
})
