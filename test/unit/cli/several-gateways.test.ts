import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { COMMANDS } from '../../../src/cli/run-command.ts'
import { getControlSocketPath } from '../../../src/control/sockets.ts'
import { ERRORS } from '../../../src/errors/table.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { runCommand, type RunOptions } from '../../fixtures/run-command.ts'
import { directory } from '../../e2e/cli/run.ts'

/** Commands that ask no gateway which runs, or whichever one of several. */
const ASK_NONE: ReadonlySet<string> = new Set([
  ...['serve', 'validate', 'wrap', 'attach', 'up', 'init', 'import', 'search', 'add', 'remove'],
  ...['service', 'connect', 'disconnect', 'doctor'],
  ...['replicas', 'audit:verify', 'policy:test', 'plugin:new', 'key:new', 'errors', 'completion', 'help'],
])

/** Words without which a command asks nobody. */
const WORDS: Readonly<Record<string, readonly string[]>> = { 'cache:purge': ['--all'], logs: ['x'] }

/** A directory with a configuration, and sockets of as many gateways as are said to run with it. */
async function gatewaysRun(t: TestContext, count: number): Promise<RunOptions> {
  const upstreams = { x: { type: 'http', url: 'http://127.0.0.1:9' } }
  const config = { version: 1, activity: { file: 'activity.db' }, upstreams }
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify(config), 'run/here': '' })
  const environment = { XDG_RUNTIME_DIR: join(cwd, 'run'), XDG_STATE_HOME: join(cwd, 'state'), HOME: cwd }
  await mkdir(join(cwd, 'run/tapgate'), { mode: 0o700 })
  for (let pid = 1; pid <= count; pid++) {
    const server = createServer(socket => socket.end())
    server.listen(getControlSocketPath({ file: join(cwd, 'gateway.yaml'), env: undefined, environment }, pid))
    await once(server, 'listening')
    cleanup(t, () => void server.close())
  }
  return { cwd, env: environment }
}

/** Text of the error with which a command ends. */
async function refusalOf(id: string, where: RunOptions): Promise<{ code: string; hint: string }> {
  const command = COMMANDS[id]
  assert.ok(command !== undefined)
  const args = Object.values(command.args).flatMap(({ required }) => (required === true ? ['x'] : []))
  const flags = Object.entries(command.flags).flatMap(([name, { required }]) =>
    required === true ? [`--${name}`, 'x'] : [],
  )
  const words = [...id.split(':'), ...args, ...flags, ...(WORDS[id] ?? []), '--json']
  const { stdout } = await runCommand(words, where)
  return (JSON.parse(stdout) as { error: { code: string; hint: string } }).error
}

for (const id of Object.keys(COMMANDS).filter(one => !ASK_NONE.has(one)))
  test(`gateway ${id.replace(':', ' ')} asks which of several gateways is meant, and has each flag that it names`, async t => {
    const where = await gatewaysRun(t, 2)

    const { code, hint } = await refusalOf(id, where)

    assert.equal(code, 'GW_MANY_GATEWAYS')
    assert.match(hint, /--socket/)
    for (const flag of flagsIn(hint)) assert.ok(flag in (COMMANDS[id]?.flags ?? {}), `it has no --${flag}`)
  })

test('where no gateway is running, a hint names no flag that only some commands have', () => {
  const { hint } = ERRORS.GW_NO_GATEWAY
  const others = Object.entries(COMMANDS).filter(([id]) => !ASK_NONE.has(id) || id === 'attach')

  for (const [id, { flags }] of others)
    for (const flag of flagsIn(hint)) assert.ok(flag in flags, `${id} has no --${flag}`)
})

/** The flags in a text, but those of a command that it names. */
function flagsIn(text: string): string[] {
  return [...text.replaceAll(/gateway ps --all/g, '').matchAll(/--([a-z-]+)/g)].map(([, name = '']) => name)
}
