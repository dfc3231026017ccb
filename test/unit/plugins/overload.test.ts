import assert from 'node:assert/strict'
import { test } from 'node:test'
import { OverloadMonitor, type OverloadLevel } from '../../../plugins/overload/index.ts'
import { log } from '../listeners/http/fake-gate.ts'
import { HandClock } from '../fixtures/hand-clock.ts'

const LIMITS = { keepAlive: 0.92, refuse: 0.95, lagMs: 1000 }

function watched(): {
  clock: HandClock
  watch: OverloadMonitor
  full: { heap: number; memory: number; garbage: number }
} {
  const clock = new HandClock()
  const full = { heap: 0.1, memory: 0.1, garbage: 0 }
  const measure = {
    heap: () => full.heap + full.garbage,
    memory: () => full.memory,
    collect: () => {
      full.garbage = 0
      return true
    },
  }
  const watch = new OverloadMonitor({ clock, log, measure })
  watch.start(LIMITS)
  return { clock, watch, full }
}

for (const what of ['heap', 'memory'] as const)
  test(`at 92 % of the ${what} connections end with their answer, at 95 % nothing new is taken, and it recovers`, () => {
    const { clock, watch, full } = watched()
    const levels: OverloadLevel[] = []

    for (const part of [0.91, 0.92, 0.95, 0.93, 0.5]) {
      full[what] = part
      clock.pass(250)
      levels.push(watch.level)
    }

    assert.deepEqual(levels, ['quiet', 'close', 'refuse', 'close', 'quiet'])
  })

test('what is full of garbage is not taken for full', () => {
  const { clock, watch, full } = watched()
  full.garbage = 0.9
  clock.pass(250)
  assert.equal(watch.level, 'quiet')
})

test('one late look is a moment, three are an overload', () => {
  const { clock, watch } = watched()
  const late = (): OverloadLevel => {
    clock.skip(1500)
    clock.pass(0)
    return watch.level
  }
  assert.deepEqual([late(), late(), late()], ['quiet', 'quiet', 'refuse'])
  clock.pass(250)
  assert.equal(watch.level, 'quiet')
})
