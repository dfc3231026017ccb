import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Breaker, type BreakerLimits } from '../../../../plugins/resilience/breaker.ts'
import { SILENT } from '../install.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

const LIMITS: BreakerLimits = {
  failures: 5,
  latency: 0,
  share: 0.5,
  window: 10_000,
  calls: 4,
  open: 30_000,
}

function breaker(limits: Partial<BreakerLimits> = {}, random = 0.5) {
  const clock = new HandClock()
  const lines: string[] = []
  const say = (message: string): void => void lines.push(message)
  const log = { ...SILENT, info: say, warn: say }
  let openings = 0
  const host = {
    upstream: 'web',
    clock,
    log,
    probeMs: 60_000,
    random: () => random,
    onOpen: () => void openings++,
  }
  const made = new Breaker({ ...LIMITS, ...limits }, host)
  const fail = (times: number): void => {
    for (let time = 0; time < times; time++) made.recordFailure(made.acquire(), 'refused')
  }
  return { made, clock, lines, fail, openings: () => openings }
}

test('it opens after five failures in a row, and not before', () => {
  const { made, fail } = breaker()

  fail(4)
  made.recordAnswer(made.acquire(), false)
  fail(4)
  assert.equal(made.state, 'closed')
  fail(1)

  assert.equal(made.state, 'open')
  assert.equal(made.acquire(), 0)
  assert.equal(made.retryAfterMs, 30_000)
})

test('after its rest exactly one call goes through, and an answer lets all others follow', () => {
  const { made, clock, fail, lines } = breaker()
  fail(5)
  clock.pass(29_999)
  assert.equal(made.acquire(), 0)
  clock.pass(1)

  const probe = made.acquire()
  assert.notEqual(probe, 0)
  assert.equal(made.acquire(), 0)
  assert.equal(made.isOpen, true)
  made.recordAnswer(probe, false)

  assert.equal(made.state, 'closed')
  assert.notEqual(made.acquire(), 0)
  assert.deepEqual(lines, ['circuit opened', 'circuit half-open, probing', 'circuit closed'])
})

test('each failing probe makes the next rest longer, up to five minutes', () => {
  const { made, clock, fail } = breaker()
  fail(5)
  const rests: number[] = []
  for (let time = 0; time < 12; time++) {
    rests.push(made.retryAfterMs / 1000)
    clock.pass(made.retryAfterMs)
    fail(1)
  }

  assert.deepEqual(rests, [30, 60, 90, 120, 150, 180, 210, 240, 270, 300, 300, 300])
})

test('a probe whose client went makes room for another one; one that never ends does so after a while', () => {
  const { made, clock, fail } = breaker()
  fail(5)
  clock.pass(30_000)
  made.release(made.acquire())
  assert.notEqual(made.acquire(), 0)
  assert.equal(made.acquire(), 0)
  clock.pass(60_000)

  assert.notEqual(made.acquire(), 0)
})

test('it opens when half of the calls are slow, once there are enough of them to tell', () => {
  const { made, openings } = breaker({ latency: 1000 })
  const slow = (): void => made.recordSlow(made.acquire())
  const fast = (): void => made.recordAnswer(made.acquire(), false)

  slow()
  slow()
  slow()
  assert.equal(made.state, 'closed')
  slow()
  assert.equal(made.state, 'open')
  assert.equal(openings(), 1)
  made.reset()
  for (let time = 0; time < 4; time++) fast()
  for (let time = 0; time < 3; time++) slow()

  assert.equal(made.state, 'closed')
})

test('a slow probe is no good probe', () => {
  const { made, clock, fail } = breaker({ latency: 1000 })
  fail(5)
  clock.pass(30_000)

  made.recordSlow(made.acquire())

  assert.equal(made.state, 'open')
  assert.match(made.why, /probe took over 1000 ms/)
})
