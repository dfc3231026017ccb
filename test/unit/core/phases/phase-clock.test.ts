import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Phase } from '../../../../src/api/exchange.ts'
import { PhaseClock } from '../../../../src/hooks/phase-clock.ts'

function clocked() {
  let at = 100
  const clock = new PhaseClock({ now: () => at, after: () => () => undefined }, at)
  const pass = (ms: number): void => void (at += ms)
  const nonZero = (): Partial<Record<Phase, number>> => {
    const { tries: _tries, isDispatched: _is, ...phases } = clock.times
    return Object.fromEntries(Object.entries(phases).filter(([, ms]) => ms > 0))
  }
  return { clock, pass, nonZero }
}

test('each moment belongs to the innermost phase, and the sum of all is the age', () => {
  const { clock, pass, nonZero } = clocked()
  pass(1)
  clock.dispatched()
  const policy = clock.enter('policy')
  pass(2)
  const queue = clock.enter('queue')
  pass(4)
  const first = clock.enter('upstream')
  pass(8)
  clock.leave(first)
  pass(16)
  const second = clock.enter('upstream')
  pass(32)
  clock.leave(second)
  clock.leave(queue)
  pass(64)
  clock.leave(policy)
  pass(128)

  assert.deepEqual(nonZero(), { before: 1, policy: 66, queue: 20, upstream: 40, after: 128 })
  const { tries, isDispatched } = clock.times
  assert.deepEqual([tries, isDispatched], [2, true])
})

test('what was given up within a phase ends with it, and ending later counts nothing', () => {
  const { clock, pass, nonZero } = clocked()
  clock.dispatched()
  const queue = clock.enter('queue')
  const late = clock.enter('upstream')
  pass(10)
  clock.leave(queue)
  pass(1)
  clock.leave(late)
  pass(1)
  clock.leave(queue)

  assert.deepEqual(nonZero(), { upstream: 10, after: 2 })
})

test('a client that is asked two things side by side thinks until both are answered', () => {
  const { clock, pass, nonZero } = clocked()
  clock.dispatched()
  const server = clock.enter('upstream')
  const one = clock.enter('client')
  const two = clock.enter('client')
  pass(5)
  clock.leave(one)
  pass(5)
  clock.leave(two)
  pass(1)
  clock.leave(server)

  assert.deepEqual(nonZero(), { upstream: 1, client: 10 })
})
