import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readOwnPackage } from '../../../src/util/version.ts'
import { runCommand } from '../../fixtures/run-command.ts'

test('a command runs in this process, and leaves nothing of it changed', async () => {
  const before = { exitCode: process.exitCode, cwd: process.cwd(), log: console.log, env: { ...process.env } }
  const listeners = process.eventNames().map(event => [event, process.listenerCount(event)])

  const version = await runCommand(['--version'])
  const errors = await runCommand(['errors', 'GW_USAGE'])
  const help = await runCommand(['help', 'serve'])
  const wrong = await runCommand(['nonsense'], { cwd: '/' })

  assert.ok(version.stdout.startsWith(`${readOwnPackage().name}/${readOwnPackage().version} `))
  assert.match(errors.stdout, /GW_USAGE/)
  assert.match(help.stdout, /USAGE\n {2}\$ gateway serve/)
  assert.deepEqual([version.code, errors.code, help.code, wrong.code], [0, 0, 0, 2])
  assert.match(wrong.stderr, /unknown command "nonsense"/)
  assert.deepEqual(
    { exitCode: process.exitCode, cwd: process.cwd(), log: console.log, env: { ...process.env } },
    before,
  )
  assert.deepEqual(
    process.eventNames().map(event => [event, process.listenerCount(event)]),
    listeners,
  )
})

test('commands that run at the same time have their own output', async () => {
  const [one, other] = await Promise.all([runCommand(['errors', 'GW_USAGE']), runCommand(['help', 'errors'])])

  assert.match(one.stdout, /^GW_USAGE/)
  assert.match(other.stdout, /USAGE\n {2}\$ gateway errors/)
})
