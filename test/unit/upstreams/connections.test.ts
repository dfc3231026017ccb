import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { StdioUpstreamConfig } from '../../../src/config/config.gen.ts'
import type { Upstream } from '../../../src/api/index.ts'
import { ProcessQuota } from '../../../src/processes/process-quota.ts'
import { bench, callOf, isAlive, script, stdioSpec, textOf, type TestCall } from '../fixtures/upstream-bench.ts'
import { until } from '../../fixtures/until.ts'

const KEEPING = script('keeping-server.mjs')

describe('a pool', { concurrency: 4 }, () => {
  it('is bounded: the one idle longest makes room, and where none is idle the newcomer is refused', async t => {
    const { upstream } = await bench(t, keeping({ isolation: 'session', pool: { max: 2, perPrincipal: 16 } }))
    const [first] = [await count(upstream, 'one'), await count(upstream, 'two')]
    await count(upstream, 'three')
    await until(() => !isAlive(first.pid), 'the first has made room')

    const busy = ['two', 'three'].map(id => upstream.dispatch(own('wait', id, { ms: 300 })))
    await assert.rejects(count(upstream, 'four'), /limit of 2 client connections/)

    await Promise.all(busy)
    assert.equal((await count(upstream, 'four')).calls, 1)
  })

  it('rests with its server', async t => {
    const { upstream } = await bench(t, keeping({ isolation: 'principal', idle: '200ms' }))
    await count(upstream, 'one')
    const all = pids(upstream)

    await until(() => upstream.state === 'idle', 'it rests')
    await until(() => all.every(pid => !isAlive(pid)), 'so do all its processes')

    assert.equal((await count(upstream, 'one')).calls, 1)
  })
})

describe('the room for processes', { concurrency: 4 }, () => {
  it('lets only so many start at a time, and the rest in turn', async () => {
    const room = new ProcessQuota(10, 2)
    const order: number[] = []
    const turns = [0, 1, 2, 3].map(async number => {
      const permit = await room.requestPermit().permit
      order.push(number)
      return permit
    })
    const [first, second] = await Promise.all(turns.slice(0, 2))
    assert.deepEqual(order, [0, 1])

    first?.markStarted()
    first?.markStarted()
    await turns[2]
    assert.deepEqual(order, [0, 1, 2], 'who says it twice makes room once')
    second?.markStopped()
    await turns[3]
  })

  it('is shared by all upstreams: a session of one makes room for another', async t => {
    const room = new ProcessQuota(3, 1)
    const [a, b] = [
      await bench(t, keeping({ isolation: 'session' }), { processLimiter: room }),
      await bench(t, keeping(), { processLimiter: room }),
    ]
    const first = await count(a.upstream, 'one')
    await count(b.upstream)

    await count(a.upstream, 'two')

    assert.ok(a.upstream.state === 'ready' && b.upstream.state === 'ready')
    await until(() => !isAlive(first.pid), 'the first session has made room for the second')
  })

  it('is not exceeded while a process that gives way still runs', async () => {
    const room = new ProcessQuota(1, 2)
    const first = await room.requestPermit().permit
    room.registerEvictable({ idleSince: 0, evict: () => undefined })
    let isAdmitted = false
    const second = room.requestPermit().permit.then(() => (isAdmitted = true))

    await new Promise(setImmediate)
    assert.equal(isAdmitted, false)
    first.markStopped()
    await second
  })

  it('is told why when there is none', async t => {
    const room = new ProcessQuota(1, 1)
    const [a, b] = [
      await bench(t, keeping(), { processLimiter: room }),
      await bench(t, keeping(), { processLimiter: room }),
    ]
    await a.upstream.start()

    await assert.rejects(count(b.upstream), /process limit reached: 1 \("processes.max"\)/)

    await a.upstream.stop()
    await b.upstream.stop()
    await b.upstream.start()
    assert.equal(b.upstream.state, 'ready')
  })
})

function keeping(overrides: Partial<StdioUpstreamConfig> = {}): StdioUpstreamConfig {
  return stdioSpec([KEEPING], { era: 'legacy', ...overrides })
}

function pids(upstream: Upstream): number[] {
  return (upstream.runtime?.instances ?? []).flatMap(({ pid }) => pid ?? [])
}

function own(name: string, id: string, args: Record<string, unknown> = {}): TestCall {
  const principal = { issuer: '', client: '', subject: id, scopes: [] }
  return callOf('tools/call', { name, arguments: args }, {}, {}, { id, principal })
}

async function count(upstream: Upstream, id = 's'): Promise<{ pid: number; calls: number }> {
  const [pid = 0, calls = 0] = textOf(await upstream.dispatch(own('count', id)))
    .split(' ')
    .map(Number)
  return { pid, calls }
}
