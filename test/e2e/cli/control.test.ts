import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test, type TestContext } from 'node:test'
import { closeAfter, testUpstream, type TestUpstream } from '../../../src/testing/index.ts'
import { directory, gateway, SERVER, serving, type Serving } from './run.ts'
import type { Outcome } from '../../fixtures/run-command.ts'

const skip = process.platform === 'win32' ? 'the sockets of this test are files' : false

interface Running {
  readonly cwd: string
  readonly serving: Serving
  readonly web: TestUpstream
  /** One command beside the gateway. */
  run(...args: string[]): Promise<Outcome>
  json(...args: string[]): Promise<Record<string, unknown>>
  sockets(): Promise<string[]>
}

/** A plugin that gives upstreams a log. */
const PLUGIN = `export default { name: 'fake', setup({ hooks }) {
  hooks.dispatch.tap((next, upstream) => {
    const hearers = new Set()
    upstream.logs = {
      recent: () => [1, 2, 3].map(n => ({ at: 0, stream: 'stderr', pid: 7, text: 'line ' + n + ' \\u001b[31mred' })),
      follow: hear => { hearers.add(hear); return () => hearers.delete(hear) },
    }
    setInterval(() => hearers.forEach(hear => hear({ at: 0, stream: 'stderr', text: 'more' })), 20).unref()
    return next
  })
} }`

function configOf(web: TestUpstream, more: object = {}): string {
  return JSON.stringify({
    version: 1,
    listeners: { main: { type: 'http', port: 0 } },
    upstreams: {
      web: { type: 'http', url: web.url },
      local: { type: 'stdio', command: process.execPath, args: ['--no-warnings', SERVER, '--mode', 'good'] },
    },
    plugins: { fake: { use: './fake.mjs' } },
    ...more,
  })
}

async function running(t: TestContext, more: object = {}): Promise<Running> {
  const web = closeAfter(t, await testUpstream({ tools: { a: () => 'a' } }))
  const cwd = await directory(t, { 'gateway.yaml': configOf(web, more), 'fake.mjs': PLUGIN, 'run/here': '' })
  const env = { XDG_RUNTIME_DIR: join(cwd, 'run') }
  const served = serving(t, ['serve', '--set', 'log.level=debug'], { cwd, env })
  await served.logged('serving')
  const run = (...args: string[]): Promise<Outcome> => gateway(args, { cwd, env })
  return {
    cwd,
    serving: served,
    web,
    run,
    json: async (...args) => JSON.parse((await run(...args, '--json')).stdout) as Record<string, unknown>,
    sockets: () => readdir(join(cwd, 'run/tapgate')).catch(() => []),
  }
}

test('ps, start, stop and restart steer the gateway that runs with the same configuration', { skip }, async t => {
  const { run, json, serving, sockets } = await running(t)

  const [shown, names, ps] = await Promise.all([run('ps'), run('ps', '--quiet'), json('ps')])
  const stopped = await run('stop', 'local')
  const started = await run('start', 'local')
  const again = await json('restart', 'local')
  const unknown = await run('stop', 'locla')

  assert.match(shown.stdout, /^tapgate \S+ {2}pid \d+ · up \S+ · \d+ MiB · gateway\.yaml$/m)
  assert.match(shown.stdout, /^upstream +state +protocol +pid +up +restarts +in flight +queue +memory +problem$/m)
  assert.match(shown.stdout, /^local +ready +\S+ \w+ +\d+ /m)
  assert.equal(names.stdout, 'web\nlocal\n')
  assert.equal((ps['gateway'] as { pid: number }).pid, serving.child.pid)
  assert.deepEqual([stopped.stdout, stopped.code], ['local is stopped\n', 0])
  assert.match(started.stdout, /^local is ready, pid \d+\n$/)
  assert.equal(again['state'], 'ready')
  assert.equal(unknown.code, 5)
  assert.match(unknown.stderr, /GW_UPSTREAM_UNKNOWN.*did you mean "local"/s)

  serving.child.kill('SIGTERM')
  assert.equal(await serving.exit, 0)
  assert.deepEqual(await sockets(), [])
})

test('reload says what changed, or what is wrong with the file, and then changes nothing', { skip }, async t => {
  const { cwd, web, run, json, serving } = await running(t)
  const file = join(cwd, 'gateway.yaml')
  const pid = async () =>
    ((await json('ps'))['upstreams'] as { name: string; pid?: number }[]).find(({ name }) => name === 'local')?.pid
  const before = await pid()

  const same = await run('reload')
  await writeFile(file, configOf(web, { lists: { pageSize: 7 }, listeners: { other: { type: 'http', port: 0 } } }))
  const changed = await run('reload')
  await writeFile(file, configOf(web, { cash: 1 }))
  const refused = await run('reload')
  const told = await json('reload')

  assert.equal(same.stdout, 'reloaded: no changes\n')
  assert.equal(changed.stdout, 'reloaded:\n  added    listener other\n  removed  listener main\n  changed  lists\n')
  assert.equal(refused.code, 3)
  assert.match(refused.stderr, /gateway\.yaml:1:\d+ \/cash unknown key "cash"/)
  assert.equal((told['error'] as { code: string }).code, 'GW_CONFIG_INVALID')
  assert.equal(await pid(), before)
  await serving.logged('configuration reload failed, keeping the running one')
})

test('logs shows the last lines, without what could steer a terminal, and follows', { skip }, async t => {
  const { cwd, run, json, serving: served } = await running(t)
  const env = { XDG_RUNTIME_DIR: join(cwd, 'run') }

  const two = await run('logs', 'web', '--lines', '2')
  const { lines } = await json('logs', 'web')
  const follow = serving(t, ['logs', 'web', '--follow', '-n', '0'], { cwd, env })
  const first = await new Promise<string>(resolve =>
    createInterface({ input: follow.child.stdout }).once('line', resolve),
  )
  served.child.kill('SIGTERM')

  assert.equal(two.stdout, '00:00:00.000 7 line 2 red\n00:00:00.000 7 line 3 red\n')
  assert.equal((lines as unknown[]).length, 3)
  assert.equal(first, '00:00:00.000 more')
  assert.equal(await follow.exit, 0, 'the end of the gateway is the end of its log')
})

test('ps --watch shows it again and again, and ends with the gateway', { skip }, async t => {
  const { cwd, serving: served } = await running(t)
  const watch = serving(t, ['ps', '--watch', '--json'], { cwd, env: { XDG_RUNTIME_DIR: join(cwd, 'run') } })
  const lines = createInterface({ input: watch.child.stdout })[Symbol.asyncIterator]()

  const seen = [await lines.next(), await lines.next()].map(({ value }) => JSON.parse(String(value)) as object)
  served.child.kill('SIGTERM')

  assert.ok(seen.every(one => 'upstreams' in one))
  assert.equal(await watch.exit, 4)
})

test('with none or several gateways the answer says what to do, and --socket chooses', { skip }, async t => {
  const { cwd, web, run, sockets } = await running(t)
  const env = { XDG_RUNTIME_DIR: join(cwd, 'run') }
  const other = serving(t, ['serve'], { cwd, env })
  await other.logged('serving')

  const several = await run('ps')
  const [one = ''] = await sockets()
  const chosen = await run('ps', '--socket', `run/tapgate/${one}`)
  await writeFile(join(cwd, 'else.yaml'), configOf(web))
  const none = await run('ps', '-c', 'else.yaml')
  const elsewhere = await run('ps', '--env', 'production')

  assert.equal(several.code, 4)
  assert.match(
    several.stderr,
    /GW_MANY_GATEWAYS: 2 gateways are running with .*gateway\.yaml: *(\n {2}--socket .*\.sock){2}/,
  )
  assert.equal(chosen.code, 0)
  assert.deepEqual([none.code, elsewhere.code], [4, 4])
  assert.match(
    none.stderr,
    /GW_NO_GATEWAY: no gateway is running with .*else\.yaml\nhint: Start one with gateway serve/,
  )
})

test('control.socket names the socket', { skip }, async t => {
  const { run, sockets } = await running(t, { control: { socket: 'run/own.sock' } })

  const named = await run('ps', '--quiet')

  assert.equal(named.stdout, 'web\nlocal\n')
  assert.ok((await sockets()).every(name => name.endsWith('.mcp')))
})

test('a gateway whose socket cannot be opened serves without it and says why', { skip }, async t => {
  const { cwd, web, run } = await running(t, { control: { socket: 'run/own.sock' } })
  const env = { XDG_RUNTIME_DIR: join(cwd, 'run') }
  const second = serving(t, ['serve'], { cwd, env })

  const { reason } = await second.logged('control socket unavailable')
  await second.logged('serving')

  assert.match(String(reason), /own\.sock cannot be used: another gateway listens on it/)
  assert.equal((await run('ps')).code, 0, 'the first one still answers')
  await rm(join(cwd, 'run/own.sock'))
  assert.ok(web.calls.length > 0)
})

test('every command of docs/commands.md does what it says', { skip: skip || !hasCurl() }, async t => {
  const files = {
    type: 'stdio',
    command: process.execPath,
    args: ['--no-warnings', SERVER, '--mode', 'good'],
  }
  const config = { version: 1, listeners: { main: { type: 'http', port: 0 } }, upstreams: { files } }
  const control = { socket: 'gateway.sock' }
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify({ ...config, control }) })
  const served = serving(t, ['serve', '--set', 'log.level=debug'], { cwd })
  await served.logged('control socket opened')
  const text = await readFile(new URL('../../../docs/commands.md', import.meta.url), 'utf8')
  const commands = [...text.matchAll(/^\$ (curl .*)$/gm)].map(([, command]) => command ?? '')
  assert.ok(commands.length >= 7)

  const answers = commands.map(command => {
    const isStream = command.includes('"follow":true')
    const shown = command.replace('curl ', `curl -sS --fail-with-body ${isStream ? '--max-time 1 ' : ''}`)
    const { status, stdout, stderr } = spawnSync('sh', ['-c', shown], { cwd, encoding: 'utf8' })
    assert.equal(status, isStream ? 28 : 0, `${command}: ${stdout}${stderr}`)
    return isStream ? undefined : (JSON.parse(stdout) as Record<string, unknown>)
  })

  const [about, ps, inspection] = answers
  assert.equal(about?.['pid'], served.child.pid)
  assert.ok(Array.isArray(ps?.['upstreams']) && Array.isArray(inspection?.['catalog']))
  assert.ok(answers.some(one => one !== undefined && 'result' in one))
})

function hasCurl(): boolean {
  return spawnSync('curl', ['--version']).status === 0
}

test('ui without a dashboard prints the lines that enable it', { skip }, async t => {
  const { run, json, cwd, web } = await running(t)
  const off = await run('ui', '--no-open')
  const { error } = await json('ui', '--no-open')
  assert.equal(off.code, 3)
  assert.match(off.stderr, /"ui: \{\}"/)
  assert.equal((error as { code: string }).code, 'GW_NOT_CONFIGURED')

  await writeFile(join(cwd, 'gateway.yaml'), configOf(web, { ui: {} }))
  await run('reload')

  assert.match((await run('ui', '--no-open')).stdout, /^http:\S+\/ui\/#token=\S+\n$/)
})
