import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Backoff, RestartPolicy } from '../../../src/net/backoff.ts'

const MINUTE = 60_000

describe('the pauses between tries', () => {
  it('are half to all of 500 ms, then twice that each time', () => {
    const [least, most] = [new Backoff(() => 0), new Backoff(() => 1)]

    assert.deepEqual(
      Array.from({ length: 8 }, () => [least.next(), most.next()]),
      [
        [250, 500],
        [500, 1000],
        [1000, 2000],
        [2000, 4000],
        [4000, 8000],
        [8000, 16_000],
        [15_000, 30_000],
        [15_000, 30_000],
      ],
    )
  })
})

describe('the budget of a server that crashes whenever it starts', () => {
  it('is ten starts, at most six of them in ten seconds; then it is tried every five minutes', () => {
    for (const random of [0, 0.5, 1]) {
      const { starts } = crashing(60 * MINUTE, random)

      for (const start of starts) {
        assert.ok(starts.filter(at => at >= start && at - start <= 10_000).length <= 6)
        assert.ok(starts.filter(at => at >= start && at - start <= MINUTE).length <= 10)
      }
      assert.deepEqual(
        new Set(starts.slice(10).map((at, index) => at - (starts[index + 9] ?? 0))),
        new Set([5 * MINUTE]),
      )
    }
  })

  it('is whole again after a minute in good health, and when somebody starts it by hand', () => {
    for (const heal of [(one: RestartPolicy) => one.recordSuccess(MINUTE), (one: RestartPolicy) => one.reset()]) {
      const restarts = exhausted()
      heal(restarts)
      restarts.recordFailure(0)
      assert.ok(restarts.computeDelay(0).ms <= 500)
    }
    const restarts = exhausted()
    restarts.recordSuccess(MINUTE - 1)
    assert.equal(restarts.computeDelay(0).ms, 5 * MINUTE)
  })

  it('does not hold for a server that costs no process: that is tried at least every 30 s', () => {
    const restarts = new RestartPolicy(false)
    for (let start = 0; start < 100; start++) {
      restarts.recordFailure(0)
      assert.ok(restarts.computeDelay(0).ms <= 30_000)
    }
  })
})

function crashing(ms: number, random: number): { starts: number[]; notes: (string | undefined)[] } {
  const restarts = new RestartPolicy(true, new Backoff(() => random))
  const starts: number[] = []
  const notes: (string | undefined)[] = []
  for (let now = 0; now < ms;) {
    starts.push(now)
    restarts.recordFailure(now)
    const pause = restarts.computeDelay(now)
    notes.push(pause.note)
    now += pause.ms
  }
  return { starts, notes }
}

function exhausted(): RestartPolicy {
  const restarts = new RestartPolicy(true)
  for (let start = 0; start < 10; start++) restarts.recordFailure(0)
  assert.equal(restarts.computeDelay(0).ms, 5 * MINUTE)
  return restarts
}
