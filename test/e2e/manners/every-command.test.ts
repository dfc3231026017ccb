import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import { COMMANDS } from '../../../src/cli/run-command.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { atTerminal, noTerminal } from '../../fixtures/terminal.ts'
import { directory, gateway } from '../cli/run.ts'

const WHO = fileURLToPath(new URL('../../fixtures/servers/who-server.mjs', import.meta.url))
const SERVERS = fileURLToPath(new URL('../../fixtures/registry/servers.json', import.meta.url))
const CONFIG = {
  version: 1,
  listeners: { main: { type: 'http', port: 0 } },
  upstreams: { who: { type: 'stdio', command: process.execPath, args: [WHO] } },
}

/** A way to call each command that ends by itself; what it needs and does not have is an error, in JSON as well. */
const CALLS: Readonly<Record<string, string>> = {
  validate: 'validate',
  inspect: 'inspect',
  tools: 'tools --tokens',
  call: 'call who__who',
  explain: 'explain who__who',
  plan: 'plan',
  up: 'up',
  status: 'status',
  init: 'init --dry-run --output other.yaml',
  service: 'service --dry-run',
  import: 'import nothing.json',
  search: `search server --registry ${SERVERS}`,
  add: 'add https://web.example/mcp --dry-run',
  remove: 'remove who --dry-run',
  connect: 'connect',
  disconnect: 'disconnect --all',
  doctor: 'doctor',
  replicas: 'replicas',
  ps: 'ps',
  start: 'start who',
  stop: 'stop who',
  restart: 'restart who',
  logs: 'logs',
  reload: 'reload',
  login: 'login who',
  logout: 'logout who',
  logins: 'logins',
  'audit:verify': 'audit verify nothing.jsonl',
  activity: 'activity',
  usage: 'usage',
  ui: 'ui --no-open',
  lock: 'lock',
  'lock:diff': 'lock diff',
  'lock:accept': 'lock accept who --expect v1:none',
  'agents:list': 'agents list',
  'agents:probe': 'agents probe',
  'agents:run': 'agents run nobody',
  'policy:test': 'policy test',
  'approvals:list': 'approvals list',
  'approvals:show': 'approvals show none',
  'approvals:approve': 'approvals approve none',
  'approvals:deny': 'approvals deny none',
  'cache:ls': 'cache ls',
  'cache:purge': 'cache purge',
  fit: 'fit',
  skills: 'skills',
  'skills:show': 'skills show skill://none/x/SKILL.md',
  'plugin:new': 'plugin new own',
  'key:new': 'key new ann',
  errors: 'errors',
  completion: 'completion bash',
  help: 'help serve',
  down: 'down',
}

/** Commands that go on until they are ended, and have tests of their own. */
const LASTING: ReadonlySet<string> = new Set(['serve', 'wrap', 'attach'])

/** Sequences that colour text; those that move the cursor are none. */
const COLOUR = new RegExp(`\u001b\\[[\\d;]*m`)

interface Place {
  readonly cwd: string
  readonly env: Record<string, string>
}

async function place(t: TestContext): Promise<Place> {
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify(CONFIG) })
  const env = { HOME: cwd, XDG_STATE_HOME: join(cwd, 'state'), XDG_RUNTIME_DIR: cwd, XDG_CONFIG_HOME: cwd }
  cleanup(t, () => gateway(['down'], { cwd, env }))
  await gateway(['up'], { cwd, env })
  return { cwd, env }
}

test('every command has a row here, or goes on until it is ended', () => {
  const known = new Set([...Object.keys(CALLS), ...LASTING])
  assert.deepEqual(
    Object.keys(COMMANDS).filter(id => !known.has(id)),
    [],
  )
})

test('with --json every command prints one JSON value, however it ends, and no colours', async t => {
  const at = await place(t)
  for (const [id, line] of Object.entries(CALLS)) {
    const { stdout, stderr } = await gateway([...line.split(' '), '--json'], {
      ...at,
      env: { ...at.env, FORCE_COLOR: '1' },
    })
    assert.doesNotThrow(() => void JSON.parse(stdout), `${id}: ${stdout.slice(0, 200)} ${stderr.slice(0, 200)}`)
    assert.equal(stripVTControlCharacters(stdout + stderr), stdout + stderr, id)
    assert.doesNotMatch(stderr, /\[y\/n\]/i, id)
  }
})

test('with --json a flag that no command has is an error in JSON, whichever way the command takes', async () => {
  for (const id of ['serve', 'attach', 'tools', 'lock:diff', 'add', 'help']) {
    const { code, stdout } = await gateway([...id.split(':'), '--json', '--no-such-flag'])
    const { error } = JSON.parse(stdout) as { error?: { code: string; hint: string } }
    assert.deepEqual([id, code, error?.code, typeof error?.hint], [id, 2, 'GW_USAGE', 'string'])
  }
})

const TABLES = ['validate', 'tools', 'search', 'connect', 'doctor', 'ps', 'help']

test('at a terminal of 80 columns tables fit, and NO_COLOR is heard', { skip: noTerminal }, async t => {
  const { cwd, env } = await place(t)
  for (const id of TABLES) {
    const screen = atTerminal(t, (CALLS[id] ?? id).split(' '), {
      cwd,
      env: { ...env, NO_COLOR: '1', TERM: 'xterm-256color' },
    })
    await screen.exit
    const shown = screen.shown()
    assert.doesNotMatch(shown, COLOUR, id)
    const long = stripVTControlCharacters(shown)
      .split(/\r?\n/)
      .filter(line => line.length > 80)
    // A path or an address is one word, and stays whole for who copies it.
    assert.deepEqual(
      long.filter(line => line.split(/\s+/).every(word => word.length < 60)),
      [],
      id,
    )
  }
})
