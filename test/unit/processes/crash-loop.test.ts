import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { bench, script, stdioSpec } from '../fixtures/upstream-bench.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { until } from '../../fixtures/until.ts'

test('a server that fails at every start has the same text in the log once, and then a line that counts', async t => {
  const directory = mkdtempSync(path.join(tmpdir(), 'crash-loop-'))
  cleanup(t, () => rmSync(directory, { recursive: true }))
  const file = path.join(directory, 'mode')
  const { upstream, logs } = await bench(
    t,
    stdioSpec([script('crashing/crash-loop-server.mjs'), file], { era: 'legacy' }),
  )
  const lines = (): typeof logs => logs.filter(line => line.fields.stream === 'stderr')
  const starts = async (mode: string): Promise<typeof logs> => {
    const before = lines().length
    writeFileSync(file, mode)
    await upstream.start()
    await upstream.stop()
    return lines().slice(before)
  }
  const counted = (said: typeof logs): unknown[] => said.map(({ fields }) => [fields.lines, fields.times])

  const whole = await starts('no key')
  assert.deepEqual(
    whole.slice(1).map(({ message }) => message.replace(/node:\d+/, 'node:pid')),
    [
      'Error: no key',
      ...[1, 2, 3].map(line => `    at load (/project/one/server.mjs:${line}:1)`),
      '(node:pid) warning',
    ],
  )
  assert.deepEqual(counted(await starts('no key')), [[6, 2]])
  assert.deepEqual(counted(await starts('no key')), [[6, 3]])

  assert.equal((await starts('no licence')).length, 6, 'another text is whole')
  assert.deepEqual(counted(await starts('no licence')), [[6, 2]])
  assert.deepEqual(counted(await starts('no key')), [[6, 4]], 'and the first is still known')
  assert.equal(
    upstream.logs?.recent().filter(({ text }) => text === 'Error: no key').length,
    4,
    'gateway logs has all',
  )
})

test('a server that was ready before it crashes anew has its lines in the log again', async t => {
  const directory = mkdtempSync(path.join(tmpdir(), 'crash-loop-'))
  cleanup(t, () => rmSync(directory, { recursive: true }))
  const file = path.join(directory, 'mode')
  const { upstream, logs } = await bench(
    t,
    stdioSpec([script('crashing/crash-loop-server.mjs'), file], { era: 'legacy' }),
  )
  const errors = (): number => logs.filter(({ message }) => message === 'Error: no key').length
  const starts = async (mode: string): Promise<void> => {
    writeFileSync(file, mode)
    await upstream.stop()
    await upstream.start()
  }
  await starts('no key')
  await starts('no key')
  assert.equal(errors(), 1)

  await starts('serve')
  assert.equal(upstream.state, 'ready')
  writeFileSync(file, 'no key')
  process.kill(upstream.pid ?? assert.fail())

  await until(() => errors() === 2, 'it says again why')
})
