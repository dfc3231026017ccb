import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { IdleSweeper, Ticker } from '../../../src/util/idle-sweeper.ts'
import { HandClock } from '../fixtures/hand-clock.ts'

describe('a ticker', () => {
  test('runs its task again and again until that says that nothing is left', () => {
    const clock = new HandClock()
    let left = 3
    const ticker = new Ticker(
      clock,
      () => 100,
      () => --left > 0,
    )
    ticker.arm()
    ticker.arm()
    clock.pass(250)
    assert.equal(left, 1)
    clock.pass(1000)
    assert.equal(left, 0)
    ticker.arm()
    ticker.stop()
    clock.pass(1000)
    assert.equal(left, 0)
  })
})

interface One {
  idleSince: number | undefined
}

function bench(
  idleMs: number,
  mostMs?: number,
): {
  clock: HandClock
  open: Set<One>
  sweeper: IdleSweeper<One>
  limit: { ms: number }
} {
  const clock = new HandClock()
  const open = new Set<One>()
  const limit = { ms: idleMs }
  const sweeper = new IdleSweeper<One>(clock, {
    idleMs: () => limit.ms,
    all: () => open,
    idleSince: one => one.idleSince,
    end: one => void open.delete(one),
    ...(mostMs === undefined ? {} : { mostMs }),
  })
  return { clock, open, sweeper, limit }
}

describe('the idle sweeper', () => {
  test('ends what is idle for the whole time, and not what is in use', () => {
    const { clock, open, sweeper } = bench(1000)
    const idle = { idleSince: clock.now() }
    const busy = { idleSince: undefined }
    open.add(idle).add(busy)
    sweeper.arm()
    clock.pass(999)
    assert.ok(open.has(idle))
    assert.equal(sweeper.isExpired(idle), false)
    clock.pass(1)
    assert.deepEqual([...open], [busy])
    assert.equal(sweeper.isExpired(busy), false)
  })

  test('ends one that was in use as soon as its own time is over', () => {
    const { clock, open, sweeper } = bench(3_600_000)
    const one: One = { idleSince: undefined }
    open.add(one)
    sweeper.arm()
    clock.pass(1_234_567)
    one.idleSince = clock.now()
    clock.pass(3_599_999)
    assert.equal(open.size, 1)
    clock.pass(10)
    assert.equal(open.size, 0)
  })

  test('sees within the most time between two looks that less is allowed now', () => {
    const { clock, open, sweeper, limit } = bench(3_600_000, 30_000)
    open.add({ idleSince: clock.now() })
    sweeper.arm()
    clock.pass(1000)
    limit.ms = 5000
    clock.pass(29_000)
    assert.equal(open.size, 0)
  })
})
