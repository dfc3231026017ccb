import assert from 'node:assert/strict'
import { chmod, lstat, mkdir, mkdtemp, readFile, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { CLIENTS, findSettingsFile, type ClientDefinition } from '../../../../src/cli/servers/clients.ts'
import {
  type ConnectOptions,
  type ConnectPlan,
  ConnectRecords,
  applyPlan,
  planConnect,
  undoConnect,
} from '../../../../src/cli/servers/connect.ts'
import { parseSettings, selectEditor } from '../../../../src/cli/servers/settings-editor.ts'
import { silentTerminal } from '../../fixtures/silent-terminal.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

const CORPUS = new URL('../../../fixtures/client-corpus/', import.meta.url)

/** Names of recorded files by the client that wrote them, where the two differ. */
const RECORDED: Readonly<Record<string, string>> = { copilot: 'copilot', droid: 'droid' }

interface Home {
  readonly home: string
  readonly options: ConnectOptions
}

async function home(t: TestContext, name = 'gateway'): Promise<Home> {
  const home = await mkdtemp(join(tmpdir(), 'clients-'))
  cleanup(t, () => rm(home, { recursive: true, force: true }))
  const terminal = silentTerminal({ cwd: home, environment: { HOME: home } })
  const values = { name, line: ['gateway', 'attach', '-c', '/project/gateway.yaml'] }
  return {
    home,
    options: { scope: 'user', values, connections: new ConnectRecords(join(home, 'state')), terminal },
  }
}

test('records that are written concurrently are all kept', async t => {
  const { home: place } = await home(t)
  const state = join(place, 'notes')
  const names = Array.from({ length: 20 }, (_, index) => `n${index}`)
  await Promise.all(
    names.map(name => {
      const record = { client: 'c', file: '/f', name, entry: {}, after: '' }
      return new ConnectRecords(state).record(record, record)
    }),
  )
  assert.deepEqual((await new ConnectRecords(state).list()).map(({ name }) => name).sort(), names.sort())
})

async function put({ options }: Home, client: ClientDefinition, bytes: Buffer | string): Promise<string> {
  const file = findSettingsFile(client, 'user', options.terminal) ?? ''
  await mkdir(dirname(file), { recursive: true })
  await writeFile(file, bytes, { mode: 0o640 })
  return file
}

function clientNamed(name: string): ClientDefinition {
  const found = CLIENTS.find(client => client.name === name)
  assert.ok(found, name)
  return found
}

async function connected(client: ClientDefinition, { options }: Home): Promise<ConnectPlan> {
  const plan = await planConnect(client, options)
  assert.equal(plan.problem, undefined, `${client.name}: ${plan.problem}`)
  await applyPlan(plan, options)
  return plan
}

async function disconnected({ options: { connections } }: Home): Promise<string[]> {
  const undone = []
  for (const one of await connections.list()) undone.push(await undoConnect(one, connections))
  return undone.map(({ outcome }) => outcome)
}

const recorded = (await readdir(CORPUS)).flatMap(file => {
  const base = file.replace(/-\d+\.\w+$/, '')
  const client = CLIENTS.find(({ name }) => name === (RECORDED[base] ?? base))
  const isJsonc = file.endsWith('.jsonc')
  return client === undefined || (isJsonc && client.format !== 'json') ? [] : [{ file, client }]
})

test('each recorded file takes the entry, keeps all else, and comes back byte for byte', async t => {
  assert.ok(recorded.length >= 45, `${recorded.length} files`)
  for (const { file, client } of recorded) {
    const here = await home(t)
    const bytes = await readFile(new URL(file, CORPUS))
    const place = await put(here, client, bytes)

    await connected(client, here)

    const text = await readFile(place, 'utf8')
    const editor = selectEditor(client)
    assert.ok(await editor.read(text, 'gateway'), file)
    for (const comment of bytes.toString('utf8').match(/^\s*(\/\/|#).*$/gm) ?? [])
      assert.ok(text.includes(comment.trim()), `${file} has lost ${comment}`)
    assert.equal((await stat(place)).mode & 0o777, 0o640)
    assert.deepEqual(await disconnected(here), ['restored'], file)
    assert.deepEqual(await readFile(place), bytes, file)
  }
})

test('a client without settings gets a file, which is gone again afterwards', async t => {
  for (const client of CLIENTS.filter(({ user }) => user.linux !== undefined)) {
    const here = await home(t)
    const file = findSettingsFile(client, 'user', here.options.terminal) ?? ''

    await connected(client, here)

    assert.ok(await selectEditor(client).read(await readFile(file, 'utf8'), 'gateway'), client.name)
    assert.deepEqual(await disconnected(here), ['restored'])
    await assert.rejects(lstat(file), { code: 'ENOENT' })
  }
})

test('files are where each client looks, also when a variable moves its directory', () => {
  const file = (name: string, environment = {}, scope: 'user' | 'project' = 'user'): string | undefined =>
    findSettingsFile(clientNamed(name), scope, {
      cwd: '/project',
      environment: { HOME: '/me', ...environment },
    })

  assert.equal(file('kimi'), '/me/.kimi-code/mcp.json')
  assert.equal(file('kimi', { KIMI_CODE_HOME: '/k' }), '/k/mcp.json')
  assert.equal(file('kimi', {}, 'project'), '/project/.kimi-code/mcp.json')
  assert.equal(file('cline-cli'), '/me/.cline/data/settings/cline_mcp_settings.json')
  assert.equal(file('cline-cli', { CLINE_DIR: '/c' }), '/c/data/settings/cline_mcp_settings.json')
  assert.equal(file('kilo-cli'), '/me/.config/kilo/kilo.json')
  assert.equal(file('antigravity'), '/me/.gemini/config/mcp_config.json')
})

test('opencode gets its entry in opencode.jsonc, if it has one', async t => {
  const here = await home(t)
  const client = clientNamed('opencode')
  const file = await put(here, client, '{}')
  await writeFile(`${file}c`, '{} // mine')

  await connected(client, here)

  assert.equal(await readFile(file, 'utf8'), '{}')
  assert.match(await readFile(`${file}c`, 'utf8'), /gateway[^]*mine/)
})

test('settings that were changed since then lose the entry alone', async t => {
  for (const { name, before, more } of [
    {
      name: 'cursor',
      before: '{\n  // mine\n  "mcpServers": {}\n}\n',
      more: (text: string) => text.replace('// mine', '// ours'),
    },
    {
      name: 'codex',
      before: '# mine\nmodel = "o"\n',
      more: (text: string) => `${text}\n[mcp_servers.late]\ncommand = "x"\n`,
    },
    { name: 'goose', before: '# mine\nGOOSE_MODEL: x\n', more: (text: string) => `${text}OTHER: 1\n` },
  ]) {
    const here = await home(t)
    const client = clientNamed(name)
    const file = await put(here, client, before)
    await connected(client, here)
    await writeFile(file, more(await readFile(file, 'utf8')))

    assert.deepEqual(await disconnected(here), ['removed'], name)

    const after = await readFile(file, 'utf8')
    assert.equal(await selectEditor(client).read(after, 'gateway'), undefined)
    assert.match(after, /ours|late|OTHER/)
  }
})

/** Settings with servers of the user, and a value that the client changes later. */
const WITH_SERVERS: readonly (readonly [client: string, names: readonly string[], text: string])[] = [
  [
    'claude-code',
    ['mine', 'local'],
    '{"mcpServers":{"mine":{"command":"a","env":{"A":"b"}},"other":{}},"projects":{"$HOME":{"mcpServers":{"local":{"command":"l"}}}},"n":1}',
  ],
  [
    'codex',
    ['mine', 'my own'],
    'n = 1\n\n[mcp_servers.mine]\ncommand = "a"\n\n[mcp_servers.mine.env]\nA = "b"\n\n[mcp_servers."my own"]\ncommand = "l"\n\n# why\n[mcp_servers.other]\ncommand = "o"\n',
  ],
  ['goose', ['mine'], 'n: 1\nextensions:\n  mine: { cmd: a, envs: { A: b } }\n  # why\n  other: { cmd: o }\n'],
]

for (const [name, names, template] of WITH_SERVERS)
  test(`servers that ${name} had before they moved to the gateway come back, whatever changed since`, async t => {
    const count = (text: string, to: number): string => text.replace(/(\bn"?(?: =|:) ?)\d/, `$1${to}`)
    for (const last of [2, 3]) {
      const here = await home(t)
      const client = clientNamed(name)
      const before = template.replace('$HOME', here.home)
      const file = await put(here, client, before)
      await connected(client, here)
      await writeFile(file, count(await readFile(file, 'utf8'), 2))
      await connected(client, { ...here, options: { ...here.options, moves: new Map([[file, names]]) } })

      const text = await readFile(file, 'utf8')
      for (const moved of names) assert.ok(!text.includes(moved), `${moved} in ${text}`)
      assert.match(text, template.includes('# why') ? /# why\n.*other/ : /other/)
      await writeFile(file, count(text, last))
      assert.deepEqual(await disconnected(here), ['removed'])

      const after = await parseSettings(await readFile(file, 'utf8'), client.format)
      assert.deepEqual(after, await parseSettings(count(before, last), client.format))
    }
  })

test('an entry of somebody else is never touched, and one that its owner has changed is left', async t => {
  const here = await home(t)
  const cursor = clientNamed('cursor')
  const foreign = '{"mcpServers":{"gateway":{"command":"mine"}}}'
  const file = await put(here, cursor, foreign)

  const plan = await planConnect(cursor, here.options)

  assert.match(plan.problem ?? '', /another entry/)
  assert.equal(await readFile(file, 'utf8'), foreign)

  await writeFile(file, '{}')
  await connected(cursor, here)
  await writeFile(file, (await readFile(file, 'utf8')).replace('attach', 'serve'))
  assert.deepEqual(await disconnected(here), ['left'])
  assert.match(await readFile(file, 'utf8'), /serve/)
})

test('connecting again changes nothing, and another configuration takes the place of the first', async t => {
  const here = await home(t)
  const client = clientNamed('claude-code')
  const file = await put(here, client, '{"numStartups":3}')
  await connected(client, here)
  const once = await readFile(file, 'utf8')

  assert.equal((await planConnect(client, here.options)).isDone, true)

  const values = { name: 'gateway', line: ['gateway', 'attach', '-c', '/other/gateway.yaml'] }
  await connected(client, { ...here, options: { ...here.options, values } })
  assert.notEqual(await readFile(file, 'utf8'), once)
  assert.deepEqual(await disconnected(here), ['restored'])
  assert.equal(await readFile(file, 'utf8'), '{"numStartups":3}')
})

test('what a client writes while its owner thinks about the plan stays', async t => {
  const here = await home(t)
  const client = clientNamed('claude-code')
  const file = await put(here, client, '{"numStartups":3}')
  const plan = await planConnect(client, here.options)
  await writeFile(file, '{"numStartups":4,"oauthAccount":{"a":1}}')

  await applyPlan(plan, here.options)

  const text = await readFile(file, 'utf8')
  assert.match(text, /"numStartups": ?4/)
  assert.match(text, /"oauthAccount"/)
  assert.deepEqual(await selectEditor(client).read(text, 'gateway'), plan.entry)
  assert.deepEqual(await disconnected(here), ['restored'])
  assert.equal(await readFile(file, 'utf8'), '{"numStartups":4,"oauthAccount":{"a":1}}')
})

test('settings that come into being while the owner thinks stay', async t => {
  const here = await home(t)
  const client = clientNamed('cursor')
  const plan = await planConnect(client, here.options)
  const file = await put(here, client, '{"mcpServers":{"gateway":{"command":"mine"}}}')

  await assert.rejects(applyPlan(plan, here.options), /changed in the meantime: .*another entry/)

  assert.equal(await readFile(file, 'utf8'), '{"mcpServers":{"gateway":{"command":"mine"}}}')
  assert.deepEqual(await here.options.connections.list(), [])
})

test('a TOML table is taken back without the comments of the next one', async t => {
  const here = await home(t)
  const client = clientNamed('codex')
  const file = await put(here, client, 'model = "o"\n')
  await connected(client, here)
  const late = '# why this server is here\n[mcp_servers.late]\ncommand = "x"\n'
  await writeFile(file, `${await readFile(file, 'utf8')}\n${late}`)

  assert.deepEqual(await disconnected(here), ['removed'])

  const after = await readFile(file, 'utf8')
  assert.equal(after, `model = "o"\n\n${late}`)
})

const HOSTILE: readonly (readonly [string, string, string | Buffer])[] = [
  ...[
    '{',
    '{"mcpServers": {',
    '[]',
    '"text"',
    '{"mcpServers": []}',
    '{"mcpServers": 7}',
    '{"mcpServers": "x"}',
    '{"a": tru}',
    '{}{}',
    '{"a": "\\x"}',
    "{'a': 1}",
    '<xml/>',
    'mcpServers: {}',
    '{"mcpServers": null}',
  ].map(text => ['cursor', `JSON ${text}`, text] as const),
  ...[
    '[mcp_servers',
    'a = ',
    '[mcp_servers]\n[mcp_servers]',
    'mcp_servers = 3',
    'mcp_servers = []',
    'a = 1\na = 2',
    '= 1',
    '[[mcp_servers]]\nname = "x"',
    'x = "open',
    'x = 2020-13-45',
  ].map(text => ['codex', `TOML ${text}`, text] as const),
  ...['a: [', 'a: b: c', '- 1\n- 2', '"', '\t- x', '{a', 'a: *nothing', '@x: 1', '? [', 'extensions: 7'].map(
    text => ['goose', `YAML ${text}`, text] as const,
  ),
  ['cursor', 'not UTF-8', Buffer.from([0x7b, 0xff, 0xfe, 0x7d])],
  ['cursor', 'a deep one', `${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}`],
  ['cursor', 'a huge one', `{"a":"${'x'.repeat(5 * 1024 * 1024)}"}`],
]

test('settings that cannot be read are named and left as they are', async t => {
  const here = await home(t)
  for (const [name, what, content] of HOSTILE) {
    const client = clientNamed(name)
    const file = await put(here, client, content)

    const { problem, after } = await planConnect(client, here.options)

    const bytes = Buffer.isBuffer(content) ? content : Buffer.from(content)
    assert.ok(problem !== undefined && after === undefined, `${what} was taken`)
    assert.ok((await readFile(file)).equals(bytes), what)
  }
})

test('a link stays a link, and its target gets the entry', async t => {
  const here = await home(t)
  const cursor = clientNamed('cursor')
  const target = join(here.home, 'dotfiles.json')
  await writeFile(target, '{}\n')
  const file = findSettingsFile(cursor, 'user', here.options.terminal) ?? ''
  await mkdir(dirname(file))
  await symlink(target, file)

  await connected(cursor, here)

  assert.ok((await lstat(file)).isSymbolicLink())
  assert.match(await readFile(target, 'utf8'), /attach/)
  assert.deepEqual(await disconnected(here), ['restored'])
  assert.equal(await readFile(target, 'utf8'), '{}\n')
})

test('a read-only file, a directory and a link to nothing are left', async t => {
  const here = await home(t)
  const cursor = clientNamed('cursor')
  const file = await put(here, cursor, '{}')
  await chmod(file, 0o444)
  assert.match((await planConnect(cursor, here.options)).problem ?? '', /read-only/)
  await rm(file)
  await mkdir(file)
  assert.match((await planConnect(cursor, here.options)).problem ?? '', /not a regular file/)
  await rm(file, { recursive: true })
  await symlink(join(here.home, 'nothing'), file)
  assert.match((await planConnect(cursor, here.options)).problem ?? '', /broken symbolic link/)
})

test('tabs, CRLF and a byte order mark stay', async t => {
  const here = await home(t)
  const cursor = clientNamed('cursor')
  const file = await put(here, cursor, '\uFEFF{\r\n\t"mcpServers": {\r\n\t\t"a": {}\r\n\t}\r\n}\r\n')

  await connected(cursor, here)

  const text = await readFile(file, 'utf8')
  assert.ok(text.startsWith('\uFEFF{\r\n\t"mcpServers"'))
  assert.doesNotMatch(text, /[^\r]\n/)
  assert.match(text, /\r\n\t\t"gateway": \{/)
})

test('the settings of a project that are elsewhere, by a link, are left alone', async t => {
  const { home: place, options } = await home(t)
  const project = join(place, 'project')
  await mkdir(join(place, 'elsewhere'))
  await mkdir(project)
  await writeFile(join(place, 'elsewhere/.mcp.json'), '{}')
  await symlink(join(place, 'elsewhere/.mcp.json'), join(project, '.mcp.json'))
  await symlink(join(place, 'elsewhere'), join(project, '.vscode'))
  const terminal = silentTerminal({ cwd: project, environment: { HOME: place } })

  for (const name of ['claude-code', 'vscode']) {
    const plan = await planConnect(clientNamed(name), { ...options, scope: 'project', terminal })
    assert.ok(plan.problem !== undefined && plan.after === undefined, name)
  }
  await rm(join(project, '.vscode'))
  const plan = await planConnect(clientNamed('vscode'), { ...options, scope: 'project', terminal })
  assert.ok(plan.after !== undefined)
})
