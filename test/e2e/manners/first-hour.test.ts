import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { access, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { LAUNCHER } from '../../peers/gateway.ts'
import { beforeServer } from './places.ts'
import { answersCommands, directory, gateway, serving } from '../cli/run.ts'

/** A directory with a gateway.yaml before a server of forty tools. */
async function place(t: TestContext, more: object = {}): Promise<string> {
  const tools = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`tool_${index}`, () => 'done']))
  return (await beforeServer(t, tools, more)).cwd
}

test('a command about something that the gateway has not says what to add, and lists no verbs', async t => {
  const cwd = await place(t)
  await serving(t, ['serve'], { cwd }).logged('upstream ready')
  await answersCommands({ cwd })

  for (const [command, section] of [
    ['replicas', 'cluster'],
    ['approvals list', 'approve'],
    ['usage', 'activity'],
    ['activity', 'activity'],
  ] as const) {
    const { code, stderr } = await gateway(command.split(' '), { cwd })
    assert.equal(code, 3)
    assert.match(stderr, new RegExp(`^error GW_NOT_CONFIGURED: .*\nhint: .* "${section}: \\{\\}"`))
  }
})

test('the change of a settings file is shown without the secrets that stand in the same line', async t => {
  const cwd = await place(t)
  const env = { HOME: cwd, XDG_STATE_HOME: join(cwd, 'state') }
  await mkdir(join(cwd, '.cursor'))
  const other = {
    command: 'x',
    env: { API_TOKEN: 'hush-hush-1' },
    headers: { Authorization: 'Bearer hush-hush-2' },
  }
  await writeFile(join(cwd, '.cursor/mcp.json'), JSON.stringify({ mcpServers: { other } }))

  const { stdout, code } = await gateway(['connect', 'cursor', '--dry-run'], { cwd, env })

  assert.equal(code, 0)
  assert.match(stdout, /"API_TOKEN":"\*\*\*"/)
  assert.doesNotMatch(stdout, /hush/)
})

test('a file that init or import writes names a schema that is there, though the gateway is called by a link', async t => {
  const cwd = await directory(t, { 'mcp.json': '{"mcpServers":{"web":{"url":"http://127.0.0.1:9/mcp"}}}' })
  const launcher = join(cwd, 'bin/gateway')
  await mkdir(join(cwd, 'bin'))
  await symlink(LAUNCHER, launcher)
  const run = promisify(execFile)
  const schemaIn = async (...args: string[]): Promise<string> => {
    const { stdout } = await run(process.execPath, [launcher, ...args, '--dry-run'], {
      cwd,
      env: { ...process.env, HOME: cwd },
    })
    return /^# yaml-language-server: \$schema=(.*)$/m.exec(stdout)?.[1] ?? ''
  }

  for (const args of [
    ['init', '--starter', 'files'],
    ['import', 'mcp.json'],
  ])
    await access(resolve(cwd, await schemaIn(...args)))
})

test('a second serve of one configuration says that the first has the port, and how to stop it', async t => {
  const first = await place(t)
  const { url } = await serving(t, ['serve'], { cwd: first }).logged('listening')
  const { port } = new URL(String(url))

  const again = await gateway(['serve', '--set', `listeners.main.port=${port}`], { cwd: first })
  const other = await gateway(['serve', '--set', `listeners.main.port=${port}`], { cwd: await place(t) })

  assert.equal(again.code, 4)
  assert.match(again.stderr, /GW_RUNS_ALREADY.*gateway\.yaml is already running/)
  assert.match(again.stderr, /hint: .*gateway down stops it/)
  assert.match(other.stderr, /GW_LISTEN.*port is in use/)
})
