import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { getErrorMessage } from '../../../src/errors/errors.ts'
import { wrapWithLimits, describeUnsupportedLimits } from '../../../src/processes/resource-limits.ts'
import { getPlatform } from '../../../src/util/platform.ts'
import { bench, fixture, script, stdioSpec, textOf, toolCall } from '../fixtures/upstream-bench.ts'
import { until } from '../../fixtures/until.ts'

const posix = { concurrency: 4, skip: process.platform === 'win32' }
const linux = { concurrency: 4, skip: process.platform !== 'linux' }

describe('the ceilings of a server', posix, () => {
  it('are set by a shell that becomes the program, and arguments stay arguments', () => {
    const argv = ['/usr/bin/env', '$(touch /tmp/x)', '; true']

    const args = wrapWithLimits({ files: 64, cpuTime: '90s', fileSize: '1MiB' }, argv, false)

    assert.deepEqual(args.slice(3), ['tapgate-ceilings', '-n', '64', '-f', '2048', '-t', '90', '--', ...argv])
    assert.doesNotMatch(args[2] ?? '', /touch/)
  })

  it('count the processes of a sandbox by themselves; where the kernel counts all of a user, its limit stands far out', () => {
    const inside = wrapWithLimits({ pids: 10 }, ['a'], true)
    const outside = wrapWithLimits({ pids: 10 }, ['a'], false)

    assert.equal(inside[5], '10')
    assert.ok(Number(outside[5]) > 10 + 1024)
  })

  it('that this machine does not keep are named', () => {
    assert.match(describeUnsupportedLimits({ memory: 1 }, getPlatform('darwin')) ?? '', /only monitored on Linux/)
    assert.match(describeUnsupportedLimits({ files: 64 }, getPlatform('win32')) ?? '', /Windows/)
    assert.equal(describeUnsupportedLimits({ pids: 1, memory: 1 }, getPlatform('linux')), undefined)
    assert.equal(describeUnsupportedLimits(undefined, getPlatform('win32')), undefined)
  })

  it('hold in the server, whose process id is still its own', linux, async t => {
    const ceilings = { files: 64, memory: '1GiB', cpuTime: '1h' }
    const { upstream } = await bench(t, stdioSpec([script('probing-server.mjs')], { ceilings }))

    const limits = textOf(await upstream.dispatch(toolCall('limits')))

    assert.match(limits, /Max open files +64 +64/)
    assert.match(limits, /Max data size +2147483648 +2147483648/)
    assert.match(limits, /Max cpu time +3600 +3600/)
  })

  it('end a server that uses too much memory, and its calls hear why', linux, async t => {
    const spec = stdioSpec([script('probing-server.mjs')], { ceilings: { memory: '128MiB' } })
    const { upstream } = await bench(t, spec)
    const why = /memory limit exceeded: \d+ MiB, limit 128 MiB/
    // On a busy machine it is ended before it has answered.
    await upstream
      .dispatch(toolCall('hoard', { bytes: 200 * 1024 * 1024 }))
      .catch((error: unknown) => assert.match(getErrorMessage(error), why))

    await until(() => upstream.state === 'failed', 'it is ended')

    assert.match(upstream.problem ?? '', why)
  })

  it('end a server that has too many processes', linux, async t => {
    const spec = stdioSpec([fixture('servers/escaping-server.mjs'), 'deaf,deaf,setsid'], {
      ceilings: { pids: 3 },
    })
    const { upstream } = await bench(t, spec)
    await upstream.start()

    await until(() => upstream.state === 'failed', 'it is ended')

    assert.match(upstream.problem ?? '', /process limit exceeded: \d+ processes and threads, limit 3/)
  })
})
