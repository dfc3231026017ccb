import assert from 'node:assert/strict'
import { lstat, mkdir, readFile, readdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { getStateDirectory } from '../../../src/cli/load-source.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { atTerminal, noTerminal } from '../../fixtures/terminal.ts'
import { directory, gateway, SERVER } from './run.ts'
import type { Outcome } from '../../fixtures/run-command.ts'

const MEMORY = fileURLToPath(
  new URL('../../../node_modules/@modelcontextprotocol/server-memory/dist/index.js', import.meta.url),
)
const node = process.execPath
const memory = { command: node, args: [MEMORY] }
const honest = { command: node, args: ['--disable-warning=ExperimentalWarning', SERVER] }
const TOKEN = 'tok-1234567890abcdef'

interface Said {
  readonly file?: string
  readonly servers: { name: string; from: string[] }[]
  readonly secrets: string[]
  readonly variables: string[]
  readonly notes: string[]
  readonly started?: { tools: string[]; health: { level: string } }
  readonly connected: { client: string; file: string }[]
  readonly problems: string[]
}

/** Settings of five clients, as each of them writes its own. */
const SETTINGS: Readonly<Record<string, string>> = {
  '.claude.json': JSON.stringify({
    numStartups: 7,
    mcpServers: { memory: { type: 'stdio', ...memory, env: {} } },
    projects: {},
  }),
  '.cursor/mcp.json': `{\n  // mine\n  "mcpServers": {\n    "Notes": ${JSON.stringify(memory)},\n  },\n}\n`,
  '.config/Code/User/mcp.json': JSON.stringify({
    servers: { honest: { type: 'stdio', ...honest, env: { API_TOKEN: TOKEN } } },
  }),
  '.codex/config.toml': `model = "x"\n[mcp_servers.wants]\ncommand = "${node}"\nargs = ["${MEMORY}"]\nenv_vars = ["NOT_SET_HERE"]\n`,
  '.gemini/settings.json': JSON.stringify({ theme: 'dark', mcpServers: { odd: { nothing: true }, memory } }),
}

async function home(
  t: TestContext,
  files: Readonly<Record<string, string>>,
): Promise<{ home: string; env: Record<string, string>; run(...args: string[]): Promise<Outcome> }> {
  const home = await directory(t, { ...files, 'project/.keep': '', 'run/.keep': '' })
  const env = {
    HOME: home,
    XDG_RUNTIME_DIR: join(home, 'run'),
    XDG_STATE_HOME: join(home, 'state'),
    XDG_CONFIG_HOME: '',
    CODEX_HOME: '',
  }
  const cwd = join(home, 'project')
  return { home, env, run: (...args) => gateway(args, { cwd, env }) }
}

test('init makes one gateway of the servers of five clients, starts it, connects them, and a tool can be called', async t => {
  const { home: at, run } = await home(t, SETTINGS)
  cleanup(t, () => run('down').then(() => undefined))
  const began = performance.now()
  const { code, stdout, stderr } = await run('init', '--yes', '--json')
  assert.equal(code, 0, stderr)
  const said = JSON.parse(stdout) as Said

  assert.deepEqual(said.servers, [
    { name: 'memory', from: ['Claude Code', 'Cursor (as Notes)', 'Gemini CLI'] },
    { name: 'honest', from: ['VS Code'] },
    { name: 'wants', from: ['Codex'] },
  ])
  assert.deepEqual(said.secrets, ['honest: env.API_TOKEN'])
  assert.deepEqual(said.variables, ['NOT_SET_HERE'])
  assert.deepEqual(said.notes, ['Gemini CLI, odd: skipped: it has neither a command nor a URL'])
  assert.deepEqual(said.connected.map(({ client }) => client).sort(), [
    'Claude Code',
    'Codex',
    'Cursor',
    'Gemini CLI',
    'VS Code',
  ])
  assert.deepEqual(said.problems, [])
  assert.notEqual(said.started?.health.level, 'error')

  const called = await run('call', 'memory__read_graph', '--json')
  t.diagnostic(`a first call ${((performance.now() - began) / 1000).toFixed(1)} s after the beginning`)
  assert.equal(called.code, 0, called.stderr)
  assert.match(called.stdout, /entities/)

  const text = await readFile(join(at, 'project/gateway.yaml'), 'utf8')
  assert.match(text, /^# yaml-language-server: \$schema=.*gateway\.json$/m)
  assert.match(text, /# From Claude Code, Cursor \(as Notes\), Gemini CLI\.\n {2}memory:/)
  assert.doesNotMatch(text, new RegExp(TOKEN))
  const [secret = ''] = (await readdir(join(at, 'project/secrets'))).filter(name => name !== '.gitignore')
  assert.equal(await readFile(join(at, 'project/secrets', secret), 'utf8'), TOKEN)
  assert.equal((await lstat(join(at, 'project/secrets', secret))).mode & 0o777, 0o600)
  assert.equal((await lstat(join(at, 'project/gateway.yaml'))).mode & 0o777, 0o600)

  const again = await run('init', '--yes', '--json')
  assert.equal(again.code, 2)
  assert.match(again.stdout, /GW_FILE_EXISTS/)
  assert.equal((await run('disconnect', '--all')).code, 0)
  for (const [file, before] of Object.entries(SETTINGS))
    assert.equal(await readFile(join(at, file), 'utf8'), before, file)
})

test('with --move the clients keep only the gateway and what was not imported, until disconnect', async t => {
  const { home: at, run } = await home(t, {
    ...SETTINGS,
    '.kiro/settings/mcp.json': '{"mcpServers":{"off":{"command":"x","disabled":true}}}',
    'project/.mcp.json': '{"mcpServers":{"team":{"command":"x"}}}',
  })
  assert.equal((await run('init', '--yes', '--no-start')).code, 0)
  const hint = (await run('init', '--yes', '--no-start', '--force')).stdout
  assert.match(hint, /gateway init --force --move/)

  const { code, stdout } = await run('init', '--yes', '--no-start', '--force', '--move')

  assert.equal(code, 0, stdout)
  assert.match(stdout, /Cursor .*removed Notes/)
  assert.match(stdout, /\.mcp\.json: team/)
  const cursor = await readFile(join(at, '.cursor/mcp.json'), 'utf8')
  assert.match(cursor, /\/\/ mine[^]*"gateway"/)
  assert.doesNotMatch(cursor, /Notes/)
  assert.match(await readFile(join(at, '.gemini/settings.json'), 'utf8'), /"odd":\{"nothing":true\}/)
  const again = JSON.parse((await run('init', '--yes', '--no-start', '--force', '--json')).stdout) as Said
  assert.deepEqual(
    again.servers.map(one => one.name),
    ['memory', 'team', 'honest', 'wants', 'off'],
  )
  assert.match(
    await readFile(join(at, '.kiro/settings/mcp.json'), 'utf8'),
    /"off"/,
    'a disabled one does not run twice',
  )
  const { findings } = JSON.parse((await run('doctor', '--json')).stdout) as { findings: { code: string }[] }
  assert.ok(!findings.some(one => one.code === 'client-own-servers'))
  assert.equal((await run('disconnect', '--all')).code, 0)
  for (const [file, before] of Object.entries(SETTINGS))
    assert.equal(await readFile(join(at, file), 'utf8'), before, file)
})

test('with --move the clients keep their servers if the gateway does not start', async t => {
  const { home: at, env, run } = await home(t, { '.cursor/mcp.json': SETTINGS['.cursor/mcp.json'] ?? '' })
  const state = getStateDirectory({ file: join(at, 'project/gateway.yaml'), env: undefined }, { environment: env })
  // A background gateway cannot write its log to a directory.
  await mkdir(join(state ?? '', 'gateway.log'), { recursive: true })

  const { code, stdout } = await run('init', '--yes', '--move', '--json')

  const { problems, started, connected } = JSON.parse(stdout) as Said
  assert.equal(code, 9)
  assert.equal(started, undefined)
  assert.equal(problems.length, 1)
  assert.equal(connected[0]?.client, 'Cursor')
  assert.match(await readFile(join(at, '.cursor/mcp.json'), 'utf8'), /"Notes"[^]*"gateway"|"gateway"[^]*"Notes"/)
})

test('at a terminal init asks whether to remove the servers from the clients', { skip: noTerminal }, async t => {
  const { home: at, env } = await home(t, SETTINGS)
  const screen = atTerminal(t, ['init', '--no-start'], { cwd: join(at, 'project'), env })
  await screen.shows(/Write .*gateway\.yaml\? \[y\/N\] /)
  screen.type('y')
  await screen.shows(/Remove these servers from the clients[^?]*\?[^?]*\[y\/N\] /)
  screen.type('y')
  await screen.shows(/- .*"Notes"[^]*Write these 5 files\? \[y\/N\] /)
  screen.type('y')

  assert.equal(await screen.exit, 0, screen.shown())
  assert.match(screen.shown(), /connected\S* Cursor .*; removed Notes/)
  assert.doesNotMatch(await readFile(join(at, '.cursor/mcp.json'), 'utf8'), /Notes/)
})

test('of two at once one writes the configuration, and the other says that it is there', async t => {
  const { home: at, run } = await home(t, SETTINGS)
  const both = await Promise.all([1, 2].map(() => run('init', '--yes', '--no-start', '--no-connect', '--json')))
  assert.deepEqual(both.map(({ code }) => code).sort(), [0, 2])
  assert.equal((await run('validate')).code, 0)
  assert.deepEqual(
    (await readdir(join(at, 'project'))).filter(name => name.includes('tmp') || name.includes('.new')),
    [],
  )
})

test('with nothing to find and nobody to ask it offers three starters, and takes the one that is named', async t => {
  const { run } = await home(t, {})
  const none = await run('init')
  assert.equal(none.code, 2)
  for (const name of ['files', 'memory', 'everything']) assert.match(none.stderr, new RegExp(`--starter ${name}`))

  const one = await run('init', '--yes', '--starter', 'memory', '--no-start', '--json')
  assert.equal(one.code, 0, one.stderr)
  assert.deepEqual((JSON.parse(one.stdout) as Said).servers, [{ name: 'memory', from: ['a starter'] }])
})

test('without a terminal nothing is written unless --yes says so, and --dry-run writes nothing at all', async t => {
  const { home: at, run } = await home(t, SETTINGS)
  const asked = await run('init')
  assert.equal(asked.code, 2)
  assert.match(asked.stderr, /use --yes/)
  const dry = await run('init', '--dry-run')
  assert.equal(dry.code, 0)
  assert.match(dry.stdout, /^ {2}memory:$/m)
  assert.deepEqual(await readdir(join(at, 'project')), ['.keep'])
})

test('settings that are broken, huge, devices, or links to nothing are said, and the others are taken', async t => {
  const { home: at, run } = await home(t, {
    ...SETTINGS,
    '.cursor/mcp.json': '{ "mcpServers": { "a": ',
    '.codeium/windsurf/mcp_config.json': `{"mcpServers":{"big":{"command":"${'x'.repeat(5 * 2 ** 20)}"}}}`,
    '.kiro/settings/mcp.json':
      '{"mcpServers":{"__proto__":{"command":"x"},"constructor":{"command":"y"},"a\\u001b[31mb":{"command":"z"}}}',
  })
  for (const [file, target] of [
    ['.qwen/settings.json', '/dev/zero'],
    ['.factory/mcp.json', '/nowhere'],
  ] as const) {
    await mkdir(dirname(join(at, file)), { recursive: true })
    await symlink(target, join(at, file))
  }
  const { code, stdout, stderr } = await run('init', '--yes', '--no-start', '--json')
  assert.equal(code, 0, stderr)
  const { notes, servers, connected } = JSON.parse(stdout) as Said
  const noted = notes.join('\n')
  assert.match(noted, /Cursor: .*line 1/)
  assert.match(noted, /Windsurf: .*larger than/)
  assert.match(noted, /Qwen Code: .*not a regular file/)
  const names = servers.map(({ name }) => name)
  for (const name of ['memory', 'honest', 'wants', 'constructor']) assert.ok(names.includes(name), name)
  assert.ok(!stdout.includes('\u001b'))
  assert.equal(await readFile(join(at, '.cursor/mcp.json'), 'utf8'), '{ "mcpServers": { "a": ')
  assert.ok(!connected.some(({ client }) => client === 'Cursor' || client === 'Qwen Code'))
})

test('where the configuration cannot be written, nothing is left of it, and no client is touched', async t => {
  const { home: at, run } = await home(t, SETTINGS)
  await writeFile(join(at, 'project/blocked'), '')
  const { code, stderr } = await run('init', '--yes', '--output', 'blocked/gateway.yaml')
  assert.equal(code, 4)
  assert.match(stderr, /GW_INIT: cannot write .*blocked/)
  for (const [file, before] of Object.entries(SETTINGS))
    assert.equal(await readFile(join(at, file), 'utf8'), before, file)
})

test('doctor finds nothing wrong with what init has made', async t => {
  const { run } = await home(t, SETTINGS)
  assert.equal((await run('init', '--yes', '--no-start', '--json')).code, 0)
  const { code, stdout } = await run('doctor', '--json')
  const { findings } = JSON.parse(stdout) as { findings: { code: string; summary: string }[] }
  assert.equal(code, 0, stdout)
  assert.deepEqual(findings.map(one => one.code).sort(), [
    ...Array.from({ length: 4 }, () => 'client-own-servers'),
    'not-running',
  ])
  const doubled = findings.filter(({ code }) => code === 'client-own-servers')
  for (const client of ['Claude Code', 'VS Code', 'Gemini CLI', 'Codex'])
    assert.ok(
      doubled.some(({ summary }) => summary.startsWith(client)),
      client,
    )
})
