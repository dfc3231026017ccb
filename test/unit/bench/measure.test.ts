import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { measureWorks, type Bench } from '../../bench/measure.ts'
import type { Measured } from '../../bench/load/messages.ts'
import { WORKS } from '../../bench/works.ts'

const MEASURED: Measured = { calls: 10, rps: 100, p50: 1, p95: 1, p99: 1, cpu: 5, rss: 50 }

/** A bench whose first round takes `firstMs` of a clock of its own, and whose others take no time. */
function benchOf(t: TestContext, firstMs: number, withinMs: number): { bench: Bench; counted: () => number } {
  let counted = 0
  let now = 1000
  t.mock.method(performance, 'now', () => now)
  const subject = { label: 'raw', target: { url: 'http://127.0.0.1:1' }, pid: undefined, prefix: '' }
  const pace = {
    rounds: 5,
    ms: 10,
    withinMs,
    warmMs: 1,
    firstWarmMs: 1,
    firstWarmCalls: 1,
    subjectWarmMs: 1,
    subjectWarmCalls: 1,
  }
  const bench = {
    lab: { subjects: () => Promise.resolve([subject]) },
    load: {
      measure: ({ ms }: { ms: number }) => {
        if (ms === 1) now += firstMs
        else counted++
        return Promise.resolve(MEASURED)
      },
    },
    pins: { subject: () => undefined },
    pace,
    warm: new WeakSet(),
    say: () => undefined,
  } as unknown as Bench
  return { bench, counted: () => counted }
}

test('a first round in which everything gets warm does not take the time of the others', async t => {
  const [work] = WORKS
  assert.ok(work !== undefined)
  const { bench, counted } = benchOf(t, 300, 500)
  await measureWorks([{ work, flights: [16] }], bench)
  assert.equal(counted(), 5)
})

test('no round is begun for which there is no time left', async t => {
  const [work] = WORKS
  assert.ok(work !== undefined)
  const { bench, counted } = benchOf(t, 300, 200)
  await measureWorks([{ work, flights: [16] }], bench)
  assert.equal(counted(), 1)
})
