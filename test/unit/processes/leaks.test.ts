import { fileURLToPath } from 'node:url'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { randomUUID } from 'node:crypto'
import { describe, it, type TestContext } from 'node:test'
import type { Upstream } from '../../../src/api/index.ts'
import { watchdogsOf, processesWith } from '../../fixtures/processes.ts'
import { bench, fixture, isAlive, stdioSpec, textOf, toolCall } from '../fixtures/upstream-bench.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { until } from '../../fixtures/until.ts'

const EVERY_WAY = 'deaf,setsid,daemon,nameless'
const skip = process.platform === 'linux' ? false : 'what left its group is found on Linux only'

describe('what a server has started', { concurrency: 4, skip }, () => {
  it('ends with the gateway, in whatever way it left the group', async t => {
    const cookie = randomUUID()
    const { upstream, run } = await bench(t, escaping(cookie, 'deaf,setsid,daemon'))
    const pids = await pidsOf(upstream)
    await until(() => processesWith(cookie).length >= 4, 'they all run')

    await run('close')
    await upstream.stop()

    await until(() => processesWith(cookie).length === 0, 'nothing is left')
    assert.deepEqual(pids.filter(isAlive), [])
  })

  for (const signal of ['SIGKILL', 'SIGABRT'] as const)
    it(`ends when the gateway dies of ${signal}, and so does the guardian`, async t => {
      const cookie = randomUUID()
      const { gateway, guardian } = await gatewayWith(cookie, EVERY_WAY, await directoryOf(t))
      assert.ok(processesWith(cookie).length >= 4)

      gateway.kill(signal)

      await until(() => processesWith(cookie).length === 0, 'nothing is left')
      await until(() => !isAlive(guardian), 'the guardian is gone')
    })

  it('ends when the whole group of the gateway is killed, as a terminal or a supervisor does', async t => {
    const cookie = randomUUID()
    const { gateway, guardian } = await gatewayWith(cookie, 'daemon', await directoryOf(t))

    process.kill(-(gateway.pid ?? assert.fail()), 'SIGKILL')

    await until(() => processesWith(cookie).length === 0, 'nothing is left')
    await until(() => !isAlive(guardian), 'the guardian is gone')
  })

  it('ends at the next start when the guardian was killed as well', async t => {
    const [cookie, next] = [randomUUID(), randomUUID()]
    const directory = await directoryOf(t)
    const { gateway, guardian } = await gatewayWith(cookie, 'daemon', directory)
    process.kill(guardian, 'SIGKILL')
    gateway.kill('SIGKILL')
    await once(gateway, 'exit')
    await until(() => processesWith(cookie).length > 0, 'something is left')

    const { run, logs } = await bench(t, escaping(next, ''), { directory })
    await run('ready')

    await until(() => processesWith(cookie).length === 0, 'it was ended')
    await until(
      () => logs.some(line => line.message.startsWith('killed processes left by a dead gateway')),
      'it is said',
    )
  })

  it('has a guardian as long as it runs, also when a reload has kept it and it starts again', async t => {
    const { upstream, run: runHook } = await bench(t, escaping(randomUUID(), ''))
    await upstream.start()
    const run = runOf(upstream)
    await runHook('close')
    assert.equal(watchdogsOf(run).length, 1)

    await upstream.stop()
    await until(() => watchdogsOf(run).length === 0, 'nothing runs, and nobody guards')
    await upstream.start()

    assert.equal(runOf(upstream), run)
    assert.equal(watchdogsOf(run).length, 1)
  })

  it('of a gateway that lives is left alone by the start of another', async t => {
    const [cookie, next] = [randomUUID(), randomUUID()]
    const directory = await directoryOf(t)
    const { gateway } = await gatewayWith(cookie, 'daemon', directory)
    cleanup(t, () => gateway.kill('SIGKILL'))
    await until(() => processesWith(cookie).length === 3, 'they all run')

    const { run, upstream } = await bench(t, escaping(next, 'daemon'), { directory })
    await run('ready')
    await pidsOf(upstream)
    await run('close')
    await upstream.stop()

    assert.equal(processesWith(cookie).length, 3)
  })
})

function escaping(cookie: string, ways: string) {
  return stdioSpec([fixture('servers/escaping-server.mjs'), ways], { env: { COOKIE: cookie } })
}

/** A directory of one test's gateways: each start ends what dead gateways have left in its directory. */
async function directoryOf(t: TestContext): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'leaks-'))
  cleanup(t, () => rm(directory, { recursive: true, force: true }))
  return directory
}

/** All that the marks of this upstream's processes begin with. */
function runOf({ pid }: Upstream): string {
  const environment = readFileSync(`/proc/${pid ?? assert.fail()}/environ`, 'latin1')
  return /TAPGATE_RUN=(tapgate:\d+:\d+:[0-9a-f]+:)/.exec(environment)?.[1] ?? assert.fail()
}

async function pidsOf(upstream: Upstream): Promise<number[]> {
  return JSON.parse(textOf(await upstream.dispatch(toolCall('pids')))) as number[]
}

/** A gateway of its own, with one server that has started its children. */
async function gatewayWith(cookie: string, ways: string, directory: string) {
  const gateway = spawn(
    process.execPath,
    [fileURLToPath(new URL('../fixtures/dying-gateway.ts', import.meta.url)), cookie, ways, directory],
    {
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    },
  )
  for await (const line of createInterface({ input: gateway.stdout })) {
    const { guardian } = JSON.parse(line) as { guardian: number }
    return { gateway, guardian }
  }
  throw new Error('the gateway did not start')
}
