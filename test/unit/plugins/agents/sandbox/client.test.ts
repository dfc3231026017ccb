import assert from 'node:assert/strict'
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { clientSide, type ClientSide } from '../../../../../plugins/agents/sandbox/client-side.ts'
import { Roots } from '../../../../../plugins/agents/sandbox/paths.ts'
import type { AgentSettings } from '../../../../../plugins/agents/types/settings.ts'
import { RPC, type JsonObject, type Programs } from '../../../../../src/plugin.ts'
import { clientOptions, programsFor } from './kit.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'

const NODE = realpathSync(process.execPath)
const TERMINAL = { commands: [NODE], max: 2, timeoutMs: 60_000, output: 64 * 1024 }

function aDirectory(t: TestContext): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'client-side-')))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  return directory
}

async function aSide(t: TestContext, client: Partial<AgentSettings['client']>, programs?: Programs) {
  const directory = aDirectory(t)
  const side = await clientSide(clientOptions(directory, client, programs))
  cleanup(t, () => side.dispose())
  return { directory, side, ask: asking(side) }
}

function asking({ handlers }: ClientSide) {
  return async (method: string, params: JsonObject): Promise<JsonObject> => {
    const handler = handlers.get(method)
    assert.ok(handler, `${method} has a handler`)
    return handler(params)
  }
}

test('what is off has no handler', async t => {
  assert.deepEqual([...(await aSide(t, {})).side.handlers.keys()], [])
  assert.deepEqual([...(await aSide(t, { readFiles: true })).side.handlers.keys()], ['fs/read_text_file'])
  const { side } = await aSide(t, { writeFiles: true, terminal: TERMINAL })
  assert.equal(side.handlers.size, 6)
})

test('an agent reads all of a file, or lines of it', async t => {
  const { directory, ask } = await aSide(t, { readFiles: true })
  const path = join(directory, 'file ñ 😀')
  writeFileSync(path, 'one\ntwo\r\nthree')
  const read = async (params: JsonObject) => (await ask('fs/read_text_file', { path, ...params })).content

  assert.equal(await read({}), 'one\ntwo\r\nthree')
  assert.equal(await read({ line: 2 }), 'two\r\nthree')
  assert.equal(await read({ line: 2, limit: 1 }), 'two\r\n')
  assert.equal(await read({ limit: 2 }), 'one\ntwo\r\n')
  assert.equal(await read({ line: null, limit: 0 }), '')
  assert.equal(await read({ line: 9 }), '')
  symlinkSync('file ñ 😀', join(directory, 'link'))
  assert.equal(await read({ path: join(directory, 'link') }), 'one\ntwo\r\nthree')
  await assert.rejects(read({ line: -1 }), { code: RPC.invalidParams })
})

test('a file that is missing is another error than one that may not be read', async t => {
  const { directory, ask } = await aSide(t, { readFiles: true, maxFile: 10 })
  const read = (name: string) => ask('fs/read_text_file', { path: join(directory, name) })
  writeFileSync(join(directory, 'large'), '12345678901')
  writeFileSync(join(directory, 'binary'), Buffer.from([0xff, 0xfe]))

  await assert.rejects(read('nothing'), { code: RPC.legacyNoResource, message: /does not exist/ })
  await assert.rejects(read('../nothing'), { code: RPC.invalidParams, message: /not below the roots/ })
  await assert.rejects(read('large'), { code: RPC.invalidParams, message: /larger than 10 bytes/ })
  await assert.rejects(read('binary'), { code: RPC.invalidParams, message: /no UTF-8/ })
  await assert.rejects(read('.'), { code: RPC.invalidParams, message: /is a directory/ })
})

test('a file that goes with the task is read wherever it is, and nothing beside it', async t => {
  const [directory, elsewhere] = [aDirectory(t), aDirectory(t)]
  for (const name of ['given', 'other']) writeFileSync(join(elsewhere, name), name)
  const options = clientOptions(directory, { readFiles: true, writeFiles: true })
  const ask = asking(await clientSide({ ...options, files: [join(elsewhere, 'given')] }))

  assert.deepEqual(await ask('fs/read_text_file', { path: join(elsewhere, 'given') }), { content: 'given' })
  await assert.rejects(ask('fs/read_text_file', { path: join(elsewhere, 'other') }), {
    code: RPC.invalidParams,
  })
  await assert.rejects(ask('fs/write_text_file', { path: join(elsewhere, 'given'), content: '' }), {
    code: RPC.invalidParams,
  })
})

test('an agent writes a file as a whole, with the directories on the way and the mode it had', async t => {
  const { directory, ask } = await aSide(t, { writeFiles: true, maxFile: 10 })
  const write = (name: string, content = 'text') =>
    ask('fs/write_text_file', { path: join(directory, name), content })
  writeFileSync(join(directory, 'script'), 'old')
  chmodSync(join(directory, 'script'), 0o755)
  symlinkSync('script', join(directory, 'link'))

  assert.deepEqual(await write('a/b/new'), {})
  await write('link')

  assert.equal(readFileSync(join(directory, 'a/b/new'), 'utf8'), 'text')
  assert.equal(readFileSync(join(directory, 'script'), 'utf8'), 'text')
  assert.equal(statSync(join(directory, 'script')).mode & 0o777, 0o755)
  assert.deepEqual(readdirSync(directory).sort(), ['a', 'link', 'script'])
  await assert.rejects(write('large', '12345678901'), { code: RPC.invalidParams })
  await assert.rejects(write('half', '\ud800'), { code: RPC.invalidParams })
})

test('what has other names, is read-only or belongs to git is not written', async t => {
  const { directory, ask } = await aSide(t, { writeFiles: true })
  const write = (name: string) => ask('fs/write_text_file', { path: join(directory, name), content: 'x' })
  for (const name of ['hard', 'fixed']) writeFileSync(join(directory, name), name)
  linkSync(join(directory, 'hard'), join(directory, 'other'))
  chmodSync(join(directory, 'fixed'), 0o444)
  mkdirSync(join(directory, '.git/hooks'), { recursive: true })

  for (const name of ['hard', 'fixed', '.git/hooks/post-checkout', 'sub/.GIT/config', '.', 'nothing/'])
    await assert.rejects(write(name), { name: 'RequestRefused' }, name)
  assert.deepEqual(readdirSync(directory).sort(), ['.git', 'fixed', 'hard', 'other'])
})

test('where a task works may be said relative to the first root, its files relative to it', async t => {
  const directory = aDirectory(t)
  for (const name of ['work', 'work/sub', 'more']) mkdirSync(join(directory, name))
  writeFileSync(join(directory, 'work/sub/file'), '')
  symlinkSync(join(directory, 'work'), join(directory, 'alias'))
  const roots = await Roots.of(['alias', 'more'], directory)
  const sub = join(directory, 'work/sub')

  assert.equal(roots.first, join(directory, 'work'))
  for (const name of ['sub', 'sub/', './sub/.', '../work/sub', sub, join(directory, 'alias/sub')])
    assert.equal(await roots.directory(name), sub, name)
  assert.equal(await roots.directory('../more'), join(directory, 'more'))
  for (const name of ['file', '../sub/file', join(sub, 'file')])
    assert.equal(await roots.file(name, sub), join(sub, 'file'), name)
  await assert.rejects(roots.directory('nothing'), {
    code: 'GW_AGENT_PATH',
    message: 'cwd "nothing" does not exist',
  })
  await assert.rejects(roots.directory(7), { code: 'GW_AGENT_PATH' })
  await assert.rejects(Roots.of(['nothing'], directory), { code: 'GW_AGENT_PATH' })
})

test('a terminal runs a program that is allowed, keeps the end of its output, and says how it exited', async t => {
  const { directory, ask } = await aSide(t, { terminal: TERMINAL }, await programsFor(t))
  const script =
    "process.stdout.write('x'.repeat(100) + '😀' + process.cwd()); console.error(process.env.LD_PRELOAD, process.env.CI, process.env.HOME); process.exitCode = 7"
  const params = {
    command: NODE,
    args: ['-e', script],
    env: [
      { name: 'LD_PRELOAD', value: '/x' },
      { name: 'CI', value: '1' },
    ],
  }
  const { terminalId } = await ask('terminal/create', params)

  assert.deepEqual(await ask('terminal/wait_for_exit', { terminalId }), { exitCode: 7, signal: null })
  const read = await ask('terminal/output', { terminalId })
  assert.ok(String(read.output).includes(directory))
  assert.ok(String(read.output).includes(`undefined 1 ${directory}`))
  assert.equal(read.truncated, false)
  assert.deepEqual(read.exitStatus, { exitCode: 7, signal: null })
  const small = await ask('terminal/create', {
    command: NODE,
    args: ['-e', "process.stdout.write('abc😀x')"],
    outputByteLimit: 4,
  })
  await ask('terminal/wait_for_exit', small)
  assert.deepEqual(await ask('terminal/output', small), {
    output: 'x',
    truncated: true,
    exitStatus: { exitCode: 0, signal: null },
  })
})

test('a terminal is refused for other programs, other directories, and too many of them', async t => {
  const { ask } = await aSide(t, { terminal: TERMINAL }, await programsFor(t))
  const create = (params: JsonObject) => ask('terminal/create', params)
  const forEver = { command: NODE, args: ['-e', 'setInterval(() => undefined, 1000)'] }

  for (const params of [
    { command: '/bin/sh' },
    { command: '/nothing' },
    { command: '' },
    { command: 'x\0' },
    {},
    { command: NODE, args: 'x' },
    { command: NODE, env: {} },
    { command: NODE, cwd: '/' },
    { command: NODE, cwd: 'relative' },
  ])
    await assert.rejects(create(params), { code: RPC.invalidParams }, JSON.stringify(params))
  const open = [await create(forEver), await create(forEver)]
  await assert.rejects(create(forEver), { code: RPC.internal, message: /terminals are open/ })
  const [first = {}, second = {}] = open
  assert.deepEqual(await ask('terminal/kill', first), {})
  assert.equal((await ask('terminal/wait_for_exit', first)).signal, 'SIGTERM')
  assert.deepEqual(await ask('terminal/release', first), {})
  await assert.rejects(ask('terminal/output', first), { code: RPC.legacyNoResource })
  const ended = ask('terminal/wait_for_exit', second)
  assert.deepEqual(await ask('terminal/release', second), {})
  assert.equal((await ended).signal, 'SIGTERM')
})

test('what runs too long is ended, and so is all when the task is over', async t => {
  const programs = await programsFor(t)
  const short = await aSide(t, { terminal: { ...TERMINAL, timeoutMs: 50 } }, programs)
  const long = await aSide(t, { terminal: TERMINAL }, programs)
  const forEver = { command: NODE, args: ['-e', 'setInterval(() => undefined, 1000)'] }
  const alive = setInterval(() => undefined, 1000)
  cleanup(t, () => clearInterval(alive))

  const late = await short.ask('terminal/wait_for_exit', await short.ask('terminal/create', forEver))
  const ended = long.ask('terminal/wait_for_exit', await long.ask('terminal/create', forEver))
  await long.side.dispose()

  assert.equal(late.signal, 'SIGTERM')
  assert.equal((await ended).signal, 'SIGTERM')
  await assert.rejects(long.ask('terminal/create', forEver), { message: 'the task is over' })
})
