import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { bench, script, stdioSpec, textOf, toolCall, type Bench } from '../fixtures/upstream-bench.ts'

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
})
