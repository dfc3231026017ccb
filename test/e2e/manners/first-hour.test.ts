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
    assert.equal(code, 2)
    assert.match(stderr, new RegExp(`^error GW_NOT_CONFIGURED: .*\nhint: Add "${section}"`))
  }
})

test('explain of a tool that is not there names no other forty, and the nearest one', async t => {
  const cwd = await place(t)

  const other = await gateway(['explain', 'nonsense'], { cwd })
  const near = await gateway(['explain', 'web__tol_7'], { cwd })

  assert.match(other.stdout, /refused by core: Unknown tool: nonsense – run "gateway tools" to list all tools\n/)
  assert.match(near.stdout, /did you mean "web__tool_7"\?/)
})

test('fit says of a client that no row is about that it is shown what anybody is', async t => {
  const cwd = await place(t)

  const known = await gateway(['fit', 'cursor'], { cwd })
  const unknown = await gateway(['fit', 'curser'], { cwd })

  assert.doesNotMatch(known.stderr, /unknown client/)
  assert.match(unknown.stderr, /unknown client curser: it gets the default form/)
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

test('a word too many is said to be one, and not that there is no such command', async t => {
  const cwd = await place(t)

  const { code, stderr } = await gateway(['inspect', 'web'], { cwd })
  const topic = await gateway(['cache', 'prge'], { cwd })

  assert.equal(code, 2)
  assert.match(stderr, /^error GW_USAGE: "gateway inspect" takes no argument "web"\n/)
  assert.match(topic.stderr, /^error GW_USAGE: unknown command "cache prge" – did you mean "cache purge"\?\n/)
})

test('tools says on stderr that nothing fits a pattern, with the nearest name', async t => {
  const cwd = await place(t)

  const near = await gateway(['tools', 'web__tol_7', '--json'], { cwd })
  const far = await gateway(['tools', 'nonsense-of-a-name'], { cwd })

  assert.deepEqual(JSON.parse(near.stdout), { tools: [] })
  assert.match(near.stderr, /none of 40 tools matches "web__tol_7" – did you mean "web__tool_7"\?/)
  assert.match(far.stderr, /none of 40 tools matches "nonsense-of-a-name"\n/)
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

test('validate says of a file without listeners who can connect', async t => {
  const cwd = await place(t, { listeners: {} })

  const { stderr } = await gateway(['validate'], { cwd })

  assert.match(
    stderr,
    /no listeners configured: only local clients can connect, with gateway attach or serve --stdio – /,
  )
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

test('add of the bare name of a package says how it is written', async t => {
  const cwd = await place(t)

  const scoped = await gateway(['add', '@modelcontextprotocol/server-memory'], { cwd })
  const bare = await gateway(['add', 'memory'], { cwd })

  assert.match(scoped.stderr, /did you mean "npm:@modelcontextprotocol\/server-memory"\?\n/)
  assert.match(bare.stderr, /; run gateway search memory to find a name\n/)
})

test('explain takes arguments as call does', async t => {
  const rule = { for: 'web__tool_1', when: 'args.path == "7"', name: 'seven' }
  const cwd = await place(t, { policy: { deny: [rule] } })

  const met = await gateway(['explain', 'web__tool_1', '--args', '{"path":"7"}', '--json'], { cwd })
  const pairs = await gateway(['explain', 'web__tool_1', 'path="7"', '--json'], { cwd })
  const wrong = await gateway(['explain', 'web__tool_1', 'path'], { cwd })

  assert.match(met.stdout, /"what": "refused"/)
  assert.deepEqual(JSON.parse(pairs.stdout), JSON.parse(met.stdout))
  assert.match(wrong.stderr, /"path" is not KEY=VALUE/)
})
