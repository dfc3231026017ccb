import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { bench, script, stdioSpec, textOf, toolCall, type Bench } from '../fixtures/upstream-bench.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { until } from '../../fixtures/until.ts'

const MOST = 64

/** Number of processes sleep for this odd number of seconds, by which those of one test are known. */
function sleepers(seconds: string): number {
  return readdirSync('/proc').filter(name => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, 'latin1').includes(`\0${seconds}\0`)
    } catch {
      return false
    }
  }).length
}

async function bomb(
  t: TestContext,
  shell: string,
  seconds: string,
): Promise<{ upstream: Bench['upstream']; peak: () => Promise<number> }> {
  const spec = stdioSpec([script('forking-server.mjs'), shell], { ceilings: { pids: MOST }, start: 'eager' })
  const { upstream } = await bench(t, spec)
  await upstream.start()
  const peak = async (): Promise<number> => {
    let most = 0
    for (; upstream.state === 'ready'; await sleep(5)) most = Math.max(most, sleepers(seconds))
    return most
  }
  return { upstream, peak }
}

describe('the ceiling of processes', { concurrency: 1, skip: process.platform !== 'linux' }, () => {
  for (const [how, each] of [
    ['side by side', (sleep: string) => `${sleep} &`],
    ['each of which leaves its session', (sleep: string) => `setsid ${sleep} &`],
    ['whose parents end at once', (sleep: string) => `( ${sleep} & )`],
  ] as const)
    it(`ends a server that starts 400 processes ${how}, with all of them and a clear reason`, async t => {
      const seconds = `98${how.length}.${process.pid}`
      const shell = `i=0; while [ $i -lt 400 ]; do i=$((i+1)); ${each(`sleep ${seconds}`)} done; wait`
      const { upstream, peak } = await bomb(t, shell, seconds)

      const [most] = await Promise.all([peak(), upstream.dispatch(toolCall('fork')).catch(() => undefined)])

      t.diagnostic(`at most ${most} of 400 were alive under a ceiling of ${MOST}; ${upstream.problem ?? ''}`)
      assert.match(upstream.problem ?? '', /process limit exceeded: \d+ processes and threads, limit 64/)
      await until(() => sleepers(seconds) === 0, 'all of them are gone')
    })

  it('neither counts nor hurts what others of the same user run', async t => {
    const seconds = `987.${process.pid}`
    const others = spawn('/bin/sh', ['-c', `for i in $(seq 100); do sleep ${seconds} & done; wait`], {
      detached: true,
      stdio: 'ignore',
    })
    cleanup(t, () => process.kill(-(others.pid ?? 0), 'SIGKILL'))
    await until(() => sleepers(seconds) === 100, 'the others run')
    const spec = stdioSpec([script('forking-server.mjs'), 'true'], { ceilings: { pids: MOST } })
    const { upstream } = await bench(t, spec)

    await upstream.start()
    await sleep(1500)

    assert.equal(textOf(await upstream.dispatch(toolCall('fork'))), 'forked')
    assert.equal(upstream.state, 'ready')
    assert.equal(sleepers(seconds), 100)
  })
})
