import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, it, type TestContext } from 'node:test'
import type { StdioUpstreamConfig } from '../../../src/config/config.gen.ts'
import type { Upstream } from '../../../src/api/index.ts'
import { bench, callOf, fasterClock, isAlive, script, stdioSpec, textOf, toolCall } from '../fixtures/upstream-bench.ts'
import { TestClock } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { until } from '../../fixtures/until.ts'

const KEEPING = script('keeping-server.mjs')

describe('a server with an idle time', { concurrency: 4 }, () => {
  it('ends when idle for that long, and the next call starts it', async t => {
    const { upstream, states } = await bench(t, keeping({ idle: '100ms' }))
    const [pid] = await count(upstream)

    await until(() => upstream.state === 'idle', 'it rests')
    await until(() => !isAlive(pid), 'its process has ended')

    assert.equal(upstream.server?.info.name, 'bones')
    assert.deepEqual(upstream.runtime?.instances, [])
    const [next, calls] = await count(upstream)
    assert.notEqual(next, pid)
    assert.equal(calls, 1)
    assert.equal(upstream.runtime?.restarts, 0)
    assert.deepEqual(states, ['starting', 'ready', 'idle', 'starting', 'ready'])
  })

  it('stays while somebody watches one of its resources', async t => {
    const { upstream } = await bench(t, keeping({ idle: '50ms' }))
    await upstream.dispatch(callOf('resources/subscribe', { uri: 'a:b' }))

    await new Promise(resolve => setTimeout(resolve, 300))
    assert.equal(upstream.state, 'ready')

    await upstream.dispatch(callOf('resources/unsubscribe', { uri: 'a:b' }))
    await until(() => upstream.state === 'idle', 'it rests')
  })

  it('loses no call when it ends as calls come', async t => {
    const { upstream, states } = await bench(t, keeping({ idle: '10ms' }))

    const rests = (): number => states.filter(state => state === 'idle').length
    for (let call = 0; rests() < 3; call++) {
      await count(upstream)
      await new Promise(resolve => setTimeout(resolve, 5 + (call % 10)))
    }
  })
})

describe('a server with a longest life', { concurrency: 4 }, () => {
  it('is replaced by a fresh one that was up first, and the old one ends with its last call', async t => {
    const clock = new TestClock()
    const { upstream, states, stderr } = await bench(t, keeping({ maxLifetime: '30s' }), { clock })
    const { file } = switched(t)
    const [old] = await count(upstream)
    const long = upstream.dispatch(toolCall('wait-for', { file }))
    await until(() => stderr().includes('waits'), 'it is under way')
    clock.advance(30_000)

    const pids = new Set<number>()
    while (pids.size < 2) pids.add((await count(upstream))[0])

    assert.ok(isAlive(old), 'it still has a call')
    assert.equal(upstream.runtime?.restarts, 1)
    writeFileSync(file, '')
    assert.equal(textOf(await long), `${old} waited`)
    await until(() => !isAlive(old), 'it has ended')
    assert.deepEqual(states.slice(0, 3), ['starting', 'ready', 'ready'])
  })

  it('goes on with the old one when no fresh one comes up', async t => {
    const { file, args } = switched(t)
    const { upstream, logs } = await bench(t, stdioSpec(args, { maxLifetime: '300ms', era: 'legacy' }))
    const [old] = await count(upstream)
    writeFileSync(file, '')

    await until(() => logs.some(({ message }) => message.includes('keeping the old connection')), 'it was tried')

    assert.deepEqual(await count(upstream), [old, 2])
    assert.equal(upstream.state, 'ready')
  })
})

describe('a server that crashes whenever it starts', { concurrency: 4 }, () => {
  it('fails for five minutes after ten starts and says what to do; a later try heals it', async t => {
    const { file, args } = switched(t)
    writeFileSync(file, '')
    const { upstream, states } = await bench(t, stdioSpec(args, { era: 'legacy', startupTimeout: '1h' }), {
      clock: fasterClock(200),
    })
    void upstream.start()

    await until(() => upstream.problem?.includes('5 min') === true, 'its budget is exhausted')

    assert.match(
      String(upstream.problem),
      / – has been crashing for \d+ s; retrying in 5 min, or run `gateway start it`/,
    )
    assert.equal(states.filter(state => state === 'starting').length, 10)
    await assert.rejects(upstream.dispatch(toolCall('count')), { code: 'GW_UPSTREAM_DOWN' })
    assert.equal(states.filter(state => state === 'starting').length, 10, 'a call does not start it')
    rmSync(file)
    await until(() => upstream.state === 'ready', 'it was tried again')
    assert.match(String(upstream.runtime?.lastError), /retrying in 5 min/)
    assert.ok(Math.abs(Date.now() - (upstream.runtime?.lastErrorAt ?? 0)) < 60_000)
  })
})

function keeping(overrides: Partial<StdioUpstreamConfig> = {}): StdioUpstreamConfig {
  return stdioSpec([KEEPING], overrides)
}

/** Arguments for a server that does not start while a file exists. */
function switched(t: TestContext): { file: string; args: string[] } {
  const folder = mkdtempSync(path.join(tmpdir(), 'lifecycle-'))
  cleanup(t, () => rmSync(folder, { recursive: true }))
  const file = path.join(folder, 'broken')
  return { file, args: [KEEPING, '--unless', file] }
}

/** The server that answers, and how often it has. */
async function count(upstream: Upstream): Promise<readonly [pid: number, calls: number]> {
  const [pid = 0, calls = 0] = textOf(await upstream.dispatch(toolCall('count')))
    .split(' ')
    .map(Number)
  return [pid, calls]
}
