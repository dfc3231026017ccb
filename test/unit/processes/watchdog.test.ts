import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { describe, it, type TestContext } from 'node:test'
import { WATCHDOG_SCRIPT } from '../../../src/processes/process-table.ts'
import { readStartTime } from '../../../src/processes/proc-scan.ts'
import { isAlive } from '../fixtures/upstream-bench.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { until } from '../../fixtures/until.ts'

const skip = process.platform === 'linux' ? false : 'it reads /proc'
const SHELLS = ['/bin/sh', '/bin/bash', '/bin/busybox'].filter(existsSync)

for (const shell of SHELLS)
  describe(`the guardian in ${shell}`, { concurrency: 4, skip }, () => {
    it('ends the groups it was told of, and what carries the mark', async t => {
      const mark = `tapgate:${randomUUID()}:`
      const [told, carrier, other] = [sleeper(t), sleeper(t, `${mark}x`), sleeper(t, 'tapgate:another:x')]
      const guardian = guard(shell, mark)

      guardian.stdin?.end(`+ ${told} ${readStartTime(told)}\n`)
      await once(guardian, 'exit')

      assert.deepEqual([told, carrier, other].map(isAlive), [false, false, true])
    })

    it('spares what it was told to forget, and a group whose number has a new leader', async t => {
      const [forgotten, reused] = [sleeper(t), sleeper(t)]
      const guardian = guard(shell, randomUUID())

      const line = `${forgotten} ${readStartTime(forgotten)}`
      guardian.stdin?.end(`+ ${line}\n+ ${reused} 1\n- ${line}\n`)
      await once(guardian, 'exit')

      assert.deepEqual([forgotten, reused].map(isAlive), [true, true])
    })

    it('does not mind the signals of a terminal or a supervisor', async t => {
      const mark = `tapgate:${randomUUID()}:`
      const carrier = sleeper(t, `${mark}x`)
      const guardian = guard(shell, mark)
      // The watchdog minds signals until it has set its traps, so it must have read something first.
      guardian.stdin?.write('+ 4194304 1\n')
      await until(() => ignores(guardian.pid ?? 0), 'it has set its traps')

      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const) guardian.kill(signal)
      guardian.stdin?.end()
      await once(guardian, 'exit')

      assert.equal(isAlive(carrier), false)
    })
  })

function guard(shell: string, mark: string): ChildProcess {
  const applet = shell.endsWith('busybox') ? ['sh'] : []
  const stdio = ['pipe', 'ignore', 'inherit'] as const
  return spawn(shell, [...applet, '-c', WATCHDOG_SCRIPT, 'tapgate-watchdog', mark], {
    detached: true,
    stdio: [...stdio],
  })
}

/** A process with a session of its own, as servers have; gone after the test. */
function sleeper(t: TestContext, marks?: string): number {
  const env = marks === undefined ? {} : { TAPGATE_RUN: marks }
  const child = spawn('/bin/sleep', ['100'], { detached: true, env, stdio: 'ignore' })
  cleanup(t, () => child.kill('SIGKILL'))
  return child.pid ?? assert.fail()
}

function ignores(pid: number): boolean {
  const ignored = /^SigIgn:\s*([0-9a-f]+)/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? '0'
  return (BigInt(`0x${ignored}`) & 0x4000n) !== 0n
}
