import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Breaker } from '../../../../plugins/resilience/breaker.ts'
import { SILENT } from '../install.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

const LIMITS = { failures: 5, open: 30_000 }

function breaker() {
  const clock = new HandClock()
  const lines: string[] = []
  const say = (message: string): void => void lines.push(message)
  const log = { ...SILENT, info: say, warn: say }
  const host = {
    upstream: 'web',
    clock,
    log,
    probeMs: 60_000,
    random: () => 0.5,
    onOpen: () => undefined,
  }
  const made = new Breaker(LIMITS, host)
  const fail = (times: number): void => {
    for (let time = 0; time < times; time++) made.recordFailure(made.acquire(), 'refused')
  }
  return { made, clock, lines, fail }
}

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
  made.recordAnswer(probe)

  assert.equal(made.state, 'closed')
  assert.notEqual(made.acquire(), 0)
  assert.deepEqual(lines, ['circuit opened', 'circuit half-open, probing', 'circuit closed'])
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
