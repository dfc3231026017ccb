import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ResourceUpdates } from '../../../../src/core/notifications/resource-updates.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

const update = (n: number): { method: string; params: { uri: string; n: number } } => ({
  method: 'notifications/resources/updated',
  params: { uri: 'a://b', n },
})

test('a holder hears of a resource at once, then ten times a second at most, and of what came last', () => {
  const clock = new HandClock()
  const heard: unknown[] = []
  const updates = new ResourceUpdates(clock, (holder, { params }) => heard.push([holder, params?.['n']]))
  const [one, two] = [{}, {}]

  for (let n = 1; n <= 50; n++) updates.tell(one, update(n))
  updates.tell(two, update(51))
  assert.deepEqual(heard.splice(0), [
    [one, 1],
    [two, 51],
  ])

  clock.pass(100)
  assert.deepEqual(heard.splice(0), [[one, 50]])
  for (let ms = 0; ms < 1000; ms += 10) {
    updates.tell(one, update(100 + ms))
    clock.pass(10)
  }
  assert.ok(heard.length >= 9 && heard.length <= 11, `${heard.length} in a second`)

  clock.pass(1000)
  assert.deepEqual(heard.at(-1), [one, 1090])
  heard.length = 0
  updates.tell(one, update(2000))
  assert.deepEqual(heard, [[one, 2000]])
})
