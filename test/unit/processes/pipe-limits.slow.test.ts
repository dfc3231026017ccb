import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { processesWith, zombiesOf } from '../../fixtures/processes.ts'
import { bench, fasterClock, script, stdioSpec, textOf, toolCall, type Bench } from '../fixtures/upstream-bench.ts'
import { until } from '../../fixtures/until.ts'

const MEBIBYTE = 1024 * 1024
const LIMIT = 10 * MEBIBYTE

interface Cost {
  readonly cpuMs: number
  readonly grownMiB: number
}

/** All that this process, which plays the gateway, spends on something. */
async function costOf(act: () => Promise<unknown>): Promise<Cost> {
  const before = process.memoryUsage.rss()
  const cpu = process.cpuUsage()
  let peak = before
  const sampling = setInterval(() => (peak = Math.max(peak, process.memoryUsage.rss())), 5)
  await act()
  clearInterval(sampling)
  const { user, system } = process.cpuUsage(cpu)
  return { cpuMs: Math.round((user + system) / 1000), grownMiB: Math.round((peak - before) / MEBIBYTE) }
}

async function server(t: TestContext): Promise<Bench> {
  const made = await bench(t, stdioSpec([script('pipe-server.mjs')]))
  await made.upstream.start()
  assert.equal(made.upstream.state, 'ready')
  return made
}

const skip = process.platform !== 'linux'

describe('the pipes of a server', { concurrency: 1, skip }, () => {
  it('carry a line of 10 MiB in pieces of 4 KiB for at most 300 ms of CPU and 4 times the limit of memory', async t => {
    const { upstream } = await server(t)
    const lengths: number[] = []
    const costs: Cost[] = []
    for (let round = 0; round < 3; round++)
      costs.push(
        await costOf(async () => {
          const answer = await upstream.dispatch(toolCall('line', { bytes: LIMIT - 1024 }))
          lengths.push(textOf(answer).length)
        }),
      )

    t.diagnostic(`three times 10 MiB: ${JSON.stringify(costs)}`)
    assert.deepEqual(new Set(lengths), new Set([LIMIT - 1024 - 200]))
    assert.ok(Math.min(...costs.map(({ cpuMs }) => cpuMs)) <= 300)
    assert.ok(Math.max(...costs.map(({ grownMiB }) => grownMiB)) <= 40)
  })

  it('skip a line that is too long, and end no server', async t => {
    const [bad, good] = await Promise.all([server(t), server(t)])
    const pids = [bad.upstream.pid, good.upstream.pid]

    const cost = await costOf(() =>
      assert.rejects(
        bad.upstream.dispatch(toolCall('line', { bytes: 11 * MEBIBYTE })),
        /maxLine.* larger than 10485760/,
      ),
    )
    const [answer, { pid }] = [await bad.upstream.dispatch(toolCall('line', { bytes: 1024 })), bad.upstream]

    t.diagnostic(`11 MiB: ${JSON.stringify(cost)}`)
    assert.ok(cost.grownMiB <= 40)
    assert.ok('result' in answer)
    assert.deepEqual([pid, good.upstream.pid], pids)
    assert.ok(![...good.states, ...bad.states].includes('failed'))
  })

  it('take 200 MB of stderr without holding the server up, in 64 KiB and at most 100 lines of log a second', async t => {
    const { upstream, stderr } = await server(t)
    const before = stderr().length
    const start = performance.now()
    let tookMs = ''

    const cost = await costOf(async () => {
      tookMs = textOf(await upstream.dispatch(toolCall('flood', { bytes: 200_000_000 })))
    })

    const seconds = Math.ceil((performance.now() - start) / 1000) + 1
    const lines = stderr().length - before
    const kept = (upstream.logs?.recent() ?? []).reduce((sum, { text }) => sum + text.length, 0)
    t.diagnostic(`200 MB of stderr: ${JSON.stringify({ ...cost, tookMs, lines, seconds, kept })}`)
    assert.ok(lines > 0 && lines <= 101 * seconds, `${lines} lines in ${seconds} s`)
    assert.ok(kept <= 64 * 1024)
    assert.ok(cost.grownMiB <= 40)
    assert.equal(upstream.state, 'ready')
  })

  it('queue a bounded amount for a server that never reads, and other servers answer meanwhile', async t => {
    const [deaf, good] = await Promise.all([server(t), server(t)])
    assert.equal(textOf(await deaf.upstream.dispatch(toolCall('deafen'))), 'deaf')
    const text = 'x'.repeat(MEBIBYTE)
    let settled = 0

    const cost = await costOf(async () => {
      for (let call = 0; call < 60; call++)
        void deaf.upstream.dispatch(toolCall('line', { text })).then(
          () => settled++,
          () => settled++,
        )
      await sleep(1000)
      assert.ok(textOf(await good.upstream.dispatch(toolCall('line', { bytes: 1000 }))).length > 0)
    })

    t.diagnostic(`60 calls of 1 MiB to a deaf server: ${JSON.stringify({ ...cost, settled })}`)
    assert.equal(deaf.upstream.state, 'ready')
    assert.ok(settled > 40, 'what has no room is told so at once')
    assert.ok(cost.grownMiB <= 40, `${cost.grownMiB} MiB`)
    await deaf.upstream.stop()
    await until(() => settled === 60, 'all calls are answered')
  })

  it('leave nothing of 40 servers that neither end by themselves nor by SIGTERM', async t => {
    const cookie = randomUUID()
    const spec = stdioSpec([script('stubborn-server.sh')], {
      command: '/bin/sh',
      env: { COOKIE: cookie },
      era: 'legacy',
      startupTimeout: '5m',
    })
    let cycles = 0
    const caller = async (): Promise<void> => {
      for (let cycle = 0; cycle < 2; cycle++) {
        // Each stop waits twice for two seconds.
        const { upstream } = await bench(t, spec, { clock: fasterClock(5) })
        await upstream.start()
        if (upstream.state === 'ready') cycles++
        await upstream.stop()
      }
    }

    await Promise.all(Array.from({ length: 20 }, caller))

    const left = processesWith(cookie)
    const defunct = zombiesOf(process.pid)
    t.diagnostic(`${cycles} cycles: ${left.length} left, ${defunct.length} defunct`)
    assert.equal(cycles, 40)
    assert.deepEqual(left, [])
    assert.deepEqual(defunct, [])
  })
})
