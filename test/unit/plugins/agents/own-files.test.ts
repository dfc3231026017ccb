import assert from 'node:assert/strict'
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { clientSide } from '../../../../plugins/agents/sandbox/client-side.ts'
import { Protected } from '../../../../plugins/agents/sandbox/gateway-files.ts'
import { Scratch } from '../../../../plugins/agents/containment.ts'
import { loadConfig, privatePlacesOf } from '../../../../src/config/index.ts'
import { clientOptions, programsFor } from './sandbox/kit.ts'
import { ownFolders } from '../../../../src/processes/sandbox/paths.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'

const YAML = `version: 1
extends: base.yaml
upstreams:
  own: { type: stdio, command: ./server.mjs, args: ['--file=rules.json'] }
  other: { type: stdio, command: node, args: [main.mjs], cwd: sub }
  snake: { type: stdio, command: python3, args: [sub/tool.py] }
audit: { file: audit.log }
state: { directory: state }
rateLimit: { state: quota, rules: { all: { perMinute: 5 } } }
plugins: { mine: { use: ./plugins/mine.mjs }, flat: { use: ./flat.mjs } }
agents: { roots: [.], list: {}, tasks: { file: tasks.db }, registry: { file: registry.json, use: [x] } }
secrets: { keyFile: vault.key }
listeners: { main: { type: http, port: 0, host: "\${file:host}" } }
`
const FILES = {
  'base.yaml': 'version: 1\n',
  'gateway.prod.yaml': 'version: 1\n',
  host: '127.0.0.1',
  '.env': 'A=b',
  'server.mjs': '',
  'rules.json': '{}',
  'sub/main.mjs': "import './lib/a.mjs'",
  'sub/lib/a.mjs': "export * from '../b.js'",
  'sub/b.js': '',
  'sub/tool.py': 'from helper import x\n',
  'sub/helper.py': '',
  'gateway.lock': '{}',
  'plugins/mine.mjs': '',
  'plugins/deep/helper.mjs': '',
  'flat.mjs': '',
  'flat-helper.mjs': '',
  'state/seal.key': 'key',
  'state/agents.db': '',
  'audit.log': '',
  'audit.log.1': '',
  'tasks.db': '',
  'registry.json': '{}',
  'vault.key': 'key',
  'node_modules/packaged/index.js': '',
}
/** All that does not exist yet, and would be looked for. */
const ABSENT = [
  'gateway.dev.yml',
  'sub/gateway.yaml',
  'sub/gateway.lock',
  'state/new',
  'plugins/new.mjs',
  '.env.local',
  'tasks.db-wal',
  'audit.log.2',
  'quota/new',
  '.local/state/tapgate/another/seal.key',
]

async function aWorld(t: TestContext) {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'own-files-')))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  for (const folder of ['sub/lib', 'plugins/deep', 'state', 'quota', 'node_modules/packaged'])
    mkdirSync(join(directory, folder), { recursive: true })
  writeFileSync(join(directory, 'gateway.yaml'), YAML)
  for (const [name, text] of Object.entries(FILES)) writeFileSync(join(directory, name), text)
  const environment = { HOME: directory }
  const loaded = await loadConfig({ cwd: directory, environment, env: 'prod', file: 'gateway.yaml' })
  const state = join(directory, 'state')
  const privatePlaces = [...ownFolders(environment), ...privatePlacesOf(loaded), { directory: state }]
  const own = new Protected({ ...loaded, state, privatePlaces })
  const client = { readFiles: true, writeFiles: true }
  const { handlers } = await clientSide({ ...clientOptions(directory, client), own })
  const write = async (path: string): Promise<string> => {
    const done = handlers.get('fs/write_text_file')?.({ path, content: 'evil' })
    return (await done?.then(() => 'written').catch((error: unknown) => String(error))) ?? 'off'
  }
  const read = async (path: string): Promise<string> => {
    const done = handlers.get('fs/read_text_file')?.({ path })
    return (await done?.then(() => 'read').catch((error: unknown) => String(error))) ?? 'off'
  }
  return { directory, own, write, read }
}

test('no file that makes the gateway what it is can be written, though the root is the whole project', async t => {
  const { directory, write } = await aWorld(t)
  for (const name of ['gateway.yaml', ...Object.keys(FILES), ...ABSENT]) {
    const file = join(directory, name)
    const before = existsSync(file) ? readFileSync(file, 'utf8') : undefined
    assert.match(await write(file), /is a file of the gateway itself/, name)
    assert.equal(existsSync(file) ? readFileSync(file, 'utf8') : undefined, before, name)
  }
  for (const name of ['notes.md', 'sub/other.mjs', 'other.yaml', 'gateway.md', 'sub/.env'])
    assert.equal(await write(join(directory, name)), 'written', name)
})

test('no other way to the same file leads there', async t => {
  const { directory, write } = await aWorld(t)
  symlinkSync(join(directory, 'base.yaml'), join(directory, 'link'))
  symlinkSync(join(directory, 'state'), join(directory, 'links'))
  linkSync(join(directory, 'base.yaml'), join(directory, 'hard'))
  for (const path of [
    'link',
    'links/seal.key',
    'hard',
    'BASE.yaml',
    'State/new',
    'sub/../base.yaml',
    './/base.yaml',
    'sub/../links/../state/x',
  ])
    assert.notEqual(await write(`${directory}/${path}`), 'written', path)
  assert.equal(readFileSync(join(directory, 'base.yaml'), 'utf8'), FILES['base.yaml'])
})

test('what was moved, or whose directory was, stays closed, and so does the place where it was', async t => {
  const { directory, write } = await aWorld(t)
  renameSync(join(directory, 'base.yaml'), join(directory, 'innocent'))
  renameSync(join(directory, 'state'), join(directory, 'other-state'))
  renameSync(join(directory, 'sub'), join(directory, 'sub2'))
  mkdirSync(join(directory, 'sub'))
  mkdirSync(join(directory, 'state'))

  for (const name of ['innocent', 'base.yaml', 'other-state/seal.key', 'other-state/new', 'state/seal.key'])
    assert.match(await write(join(directory, name)), /of the gateway itself/, name)
  for (const name of ['sub2/main.mjs', 'sub/main.mjs'])
    assert.match(await write(join(directory, name)), /of the gateway itself/, name)
})

test('what holds secrets is not read either, what the gateway runs is', async t => {
  const { directory, read } = await aWorld(t)

  for (const name of [
    'gateway.yaml',
    'base.yaml',
    'host',
    '.env',
    'state/seal.key',
    'audit.log',
    'tasks.db',
    'registry.json',
    'vault.key',
  ])
    assert.match(await read(join(directory, name)), /of the gateway itself/, name)
  for (const name of ['server.mjs', 'plugins/mine.mjs', 'sub/main.mjs'])
    assert.equal(await read(join(directory, name)), 'read', name)
})

test('worktrees and own directories of tasks lie in the state directory, and are open', async t => {
  const { directory, own } = await aWorld(t)

  assert.equal(own.whyNot(join(directory, 'state/worktrees/t_1/gateway.yaml'), 'write'), undefined)
  assert.equal(own.whyNot(join(directory, 'state/scratch/abc/x'), 'write'), undefined)
  assert.notEqual(own.whyNot(join(directory, 'state/homes/a/x'), 'write'), undefined)
})

test('a program in a terminal is not given a file of the gateway, by any spelling', async t => {
  const { directory, own } = await aWorld(t)
  const terminal = { commands: ['*'], max: 4, timeoutMs: 10_000, output: 1024 }
  const options = clientOptions(directory, { terminal }, await programsFor(t))
  const side = await clientSide({ ...options, own })
  cleanup(t, () => side.dispose())
  const create = (params: object) => side.handlers.get('terminal/create')?.({ command: 'touch', ...params })

  for (const args of [
    ['gateway.yaml'],
    [join(directory, 'state/seal.key')],
    ['--output=base.yaml'],
    ['sub/../GATEWAY.yaml'],
  ])
    await assert.rejects(create({ args }) ?? Promise.resolve(), /of the gateway itself/, args.join())
  await assert.rejects(create({ args: ['x'], cwd: join(directory, 'state') }) ?? Promise.resolve(), {
    message: /of the gateway itself/,
  })
  const made = await create({ args: ['notes'] })
  await side.handlers.get('terminal/wait_for_exit')?.({ ...made })
  assert.ok(existsSync(join(directory, 'notes')))
})

test('without roots a task has an empty directory of its own, and names no other', async t => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'scratch-')))
  cleanup(t, () => rmSync(folder, { recursive: true, force: true }))
  const scratch = new Scratch(() => Promise.resolve(folder))
  const one = await scratch.directory(undefined, [])
  const two = await scratch.directory(undefined, [])

  assert.notEqual(one, two)
  assert.equal(await scratch.directory(one, []), one, 'who goes on with the task')
  for (const cwd of ['/etc', folder, `${one}/..`, join(folder, 'x'), '.'])
    await assert.rejects(scratch.directory(cwd, []), { code: 'GW_AGENT_PATH' }, cwd)
  await assert.rejects(scratch.directory(undefined, ['/etc/passwd']), /agents.roots says no directory/)
  await scratch.prune(name => one.endsWith(name))
  assert.ok(existsSync(two), 'it is too young to be forgotten')
})
