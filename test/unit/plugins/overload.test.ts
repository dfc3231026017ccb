import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { test } from 'node:test'
import { Watch, type Level } from '../../../plugins/overload/watch.ts'
import { log } from '../listeners/http/fake-gate.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { HandClock } from '../fixtures/hand-clock.ts'

const LIMITS = { keepAlive: 0.92, refuse: 0.95, lagMs: 1000 }

function watched(): {
  clock: HandClock
  watch: Watch
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
  const watch = new Watch({ clock, log, measure })
  watch.start(LIMITS)
  return { clock, watch, full }
}

for (const what of ['heap', 'memory'] as const)
  test(`at 92 % of the ${what} connections end with their answer, at 95 % nothing new is taken, and it recovers`, () => {
    const { clock, watch, full } = watched()
    const levels: Level[] = []

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
  const late = (): Level => {
    clock.skip(1500)
    clock.pass(0)
    return watch.level
  }
  assert.deepEqual([late(), late(), late()], ['quiet', 'quiet', 'refuse'])
  clock.pass(250)
  assert.equal(watch.level, 'quiet')
})

test('a gateway near its heap limit answers 503 at once, does not die, and takes requests again', async t => {
  const program = join(import.meta.dirname, '../fixtures/full-gateway.ts')
  const child = spawn(
    process.execPath,
    ['--max-old-space-size=256', '--disable-warning=ExperimentalWarning', program],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  cleanup(t, () => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const say = async (what: string): Promise<string> => {
    child.stdin.write(`${what}\n`)
    return String((await lines.next()).value)
  }
  const url = await say('listen')
  const call = async (): Promise<{
    status: number
    after: string | null
    close: string | null
    ms: number
  }> => {
    const began = performance.now()
    const body = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
    const reply = await fetch(url, { method: 'POST', headers, body })
    await reply.text()
    const [after, close] = [reply.headers.get('retry-after'), reply.headers.get('connection')]
    return { status: reply.status, after, close, ms: performance.now() - began }
  }
  const until = async (status: number): Promise<number> => {
    const began = performance.now()
    while (((await call()).status === 503) !== (status === 503))
      if (performance.now() - began > 20_000) throw new Error(`no ${status}`)
      else await new Promise(resolve => setTimeout(resolve, 100))
    return performance.now() - began
  }
  // The call is served: without a session that is a 400.
  assert.equal((await call()).status, 400)

  await say('fill')
  await until(503)
  const refused = await Promise.all(Array.from({ length: 20 }, call))
  const alive = await fetch(new URL('/livez', url))
  await say('free')
  const recovered = await until(400)

  for (const { status, after } of refused) assert.deepEqual([status, after], [503, '2'])
  t.diagnostic(`slowest refusal of 20 at once ${Math.max(...refused.map(({ ms }) => ms)).toFixed(0)} ms`)
  t.diagnostic(`recovered after ${recovered.toFixed(0)} ms`)
  assert.ok(refused.every(({ close }) => close === 'close'))
  assert.equal(alive.status, 200)
  assert.ok(recovered <= 10_000)
  assert.equal(child.exitCode, null)
  child.stdin.end()
  await once(child, 'exit')
})
