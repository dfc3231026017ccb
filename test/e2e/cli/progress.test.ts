import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { cleanup } from '../../fixtures/cleanup.ts'
import { atTerminal, noTerminal } from '../../fixtures/terminal.ts'
import { directory, gateway, SERVER } from './run.ts'

const NOT_CI = { CI: '', TERM: 'xterm' }
/** A server that takes a while to start. */
const SLOW = { command: process.execPath, args: ['-e', `setTimeout(() => import('${SERVER}'), 1500)`] }
const CONFIG = JSON.stringify({ version: 1, upstreams: { slow: { type: 'stdio', ...SLOW } } })

const ERASE = '\r\u001b[K'

/** Fails unless the line was there, and is gone. */
function assertShown(shown: string): void {
  const line = shown.lastIndexOf(`${ERASE}starting slow (0 of 1 ready) … 1 s`)
  assert.ok(line >= 0 && shown.lastIndexOf(ERASE) > line, shown)
}

for (const args of [
  ['call', 'slow__echo', 'message=hi'],
  ['explain', 'slow__echo'],
  ['plan', '--against', 'gateway.yaml'],
  ['lock'],
])
  test(`${args[0]} shows the servers that it waits for, and erases them`, { skip: noTerminal }, async t => {
    const screen = atTerminal(t, args, { cwd: await directory(t, { 'gateway.yaml': CONFIG }), env: NOT_CI })
    await screen.exit

    assertShown(screen.shown())
  })

test('add shows that it waits for the server, before it asks', { skip: noTerminal }, async t => {
  const cwd = await directory(t, { 'gateway.yaml': 'version: 1\n' })
  const args = ['add', '--name', 'slow', '--no-sandbox', '--', SLOW.command, ...SLOW.args]
  const screen = atTerminal(t, args, { cwd, env: NOT_CI })
  await screen.shows(/Write this\? \[y\/N\] /)

  assertShown(screen.shown())
})

test('init shows the servers that it waits for, and erases them', { skip: noTerminal }, async t => {
  const settings = JSON.stringify({ mcpServers: { slow: SLOW } })
  const home = await directory(t, { '.cursor/mcp.json': settings, 'project/.keep': '' })
  const env = { ...NOT_CI, HOME: home, XDG_RUNTIME_DIR: home, XDG_STATE_HOME: join(home, 'state') }
  const cwd = join(home, 'project')
  cleanup(t, () => gateway(['down'], { cwd, env }).then(() => undefined))
  const screen = atTerminal(t, ['init', '--yes', '--no-connect'], { cwd, env })

  assert.equal(await screen.exit, 0, screen.shown())
  assertShown(screen.shown())
})

for (const [reason, more, env] of [
  ['--json', ['--json'], NOT_CI],
  ['CI', [], { ...NOT_CI, CI: 'true' }],
] as const)
  test(`with ${reason} there is no such line`, { skip: noTerminal }, async t => {
    const cwd = await directory(t, { 'gateway.yaml': CONFIG })
    const screen = atTerminal(t, ['tools', ...more], { cwd, env })
    await screen.exit

    assert.doesNotMatch(screen.shown(), /starting/)
  })
