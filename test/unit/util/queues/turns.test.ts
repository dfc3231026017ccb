import assert from 'node:assert/strict'
import { test } from 'node:test'
import { finish, runInTurns } from '../../../../src/util/queues/turns.ts'

/** Keeps the processor busy for so many steps of half a millisecond. */
function* busy(count: number, steps: string[] = [], name = ''): Generator<void, string> {
  for (let step = 0; step < count; step++) {
    const next = performance.now() + 0.5
    while (performance.now() < next);
    steps.push(name)
    yield
  }
  return name
}

test('short work has no pause', () => {
  assert.equal(runInTurns(busy(0, [], 'done')), 'done')
  assert.equal(finish(busy(2, [], 'done')), 'done')
})

test('other events are served while long work is under way, and each work gets turns', async () => {
  let turns = 0
  const count = (): void => void (turns++, (timer = setImmediate(count)))
  let timer = setImmediate(count)
  const steps: string[] = []

  const results = await Promise.all([runInTurns(busy(60, steps, 'a')), runInTurns(busy(60, steps, 'b'))])
  clearImmediate(timer)

  assert.deepEqual(results, ['a', 'b'])
  assert.ok(turns > 8, `${turns} turns`)
  assert.ok(steps.lastIndexOf('a') > steps.indexOf('b'))
})

test('work that fails in a later turn rejects', async () => {
  const failing = function* (): Generator<void, string> {
    yield* busy(20)
    throw new Error('no')
  }

  await assert.rejects(async () => runInTurns(failing()), /no/)
})
