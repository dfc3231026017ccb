import assert from 'node:assert/strict'
import { existsSync, readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { directory, gateway, SERVER, serving, type Serving } from './run.ts'
import type { Outcome } from '../../fixtures/run-command.ts'

const skip = process.platform === 'win32' ? 'the sockets of this test are files' : false

interface Beside {
  readonly cwd: string
  readonly served: Serving
  run(...args: string[]): Promise<Outcome>
}

/** A gateway with an audit, a limit and one local server, and commands typed beside it. */
async function beside(t: TestContext, ...flags: string[]): Promise<Beside> {
  const config = {
    version: 1,
    listeners: { main: { type: 'http', port: 0 } },
    audit: { file: flags.length === 0 ? 'audit.jsonl' : 'audit-{pid}.jsonl', chain: true },
    rateLimit: { rules: { few: { tools: ['local__*'], perDay: 2 } }, state: 'days.db' },
    upstreams: {
      local: { type: 'stdio', command: process.execPath, args: ['--no-warnings', SERVER, '--mode', 'good'] },
    },
  }
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify(config), 'run/here': '' })
  const env = { XDG_RUNTIME_DIR: join(cwd, 'run') }
  const served = serving(t, ['serve', ...flags], { cwd, env })
  await served.logged('serving')
  // The socket is opened beside what `serving` waits for.
  for (let left = 200; left > 0 && (await gateway(['ps'], { cwd, env })).code !== 0; left--);
  return { cwd, served, run: (...args) => gateway(args, { cwd, env }) }
}

test('tools, call and inspect use the gateway that runs, and say which', { skip }, async t => {
  const { served, run } = await beside(t)
  const { upstreams } = JSON.parse((await run('ps', '--json')).stdout) as Rows
  const says = new RegExp(`^using the running gateway \\(pid ${served.child.pid}, gateway\\.yaml\\)`)

  const tools = await run('tools', '--json')
  const called = await run('call', 'local__echo', 'message=hello', '--json')
  const inspected = await run('inspect', '--json')

  for (const { code, stderr } of [tools, called, inspected]) {
    assert.equal(code, 0, stderr)
    assert.match(stderr, says)
  }
  assert.match(tools.stdout, /"upstream": "local"/)
  assert.match(called.stdout, /hello/)
  const { listeners, upstreams: seen, config } = JSON.parse(inspected.stdout) as Rows
  assert.match(String(listeners[0]?.['url']), /^http:\/\/127\.0\.0\.1:\d{4,5}\/mcp$/)
  assert.equal(seen[0]?.['pid'], upstreams[0]?.['pid'])
  assert.ok('audit' in config)
})

test('calls beside a running gateway are in its audit, and count on its limits', { skip }, async t => {
  const { cwd, run } = await beside(t)

  const outcomes = []
  for (const text of ['one', 'two', 'three']) outcomes.push(await run('call', 'local__echo', `message=${text}`))
  const beyond = await run('call', '--fresh', 'local__echo', 'message=fresh')
  const set = await run('call', '--set', 'log.level=debug', 'local__echo', 'message=set')

  assert.deepEqual(
    outcomes.map(({ code }) => code),
    [0, 0, 10],
  )
  assert.deepEqual([beyond.code, beyond.stdout, set.code], [0, 'fresh\n', 0], beyond.stderr + set.stderr)
  const verified = await run('audit', 'verify', 'audit.jsonl')
  assert.equal(verified.code, 0, verified.stdout)
  const calls = (await readFile(join(cwd, 'audit.jsonl'), 'utf8')).split('\n')
  assert.equal(calls.filter(line => line.includes('"tools/call"')).length, 3)
})

test('a server that was stopped stays so for a call beside it; --fresh starts one of its own', { skip }, async t => {
  const { run } = await beside(t)
  await run('stop', 'local')

  const refused = await run('call', 'local__echo', 'message=a')
  const fresh = await run('call', 'local__echo', 'message=a', '--fresh')

  assert.equal(refused.code, 4)
  assert.match(refused.stderr, /upstream "local" was stopped\n.*gateway start local/s)
  assert.deepEqual([fresh.code, fresh.stdout], [0, 'a\n'])
})

test('a call of a gateway of its own saves nothing for later runs', async t => {
  const upstreams = { local: { type: 'stdio', command: process.execPath, args: ['--no-warnings', SERVER] } }
  const cwd = await directory(t, {
    'gateway.yaml': JSON.stringify({ listeners: {}, state: { directory: 'state' }, upstreams }),
  })

  const { code, stderr } = await gateway(['call', 'local__echo', 'message=a'], { cwd })

  assert.equal(code, 0, stderr)
  assert.deepEqual(existsSync(join(cwd, 'state')) ? readdirSync(join(cwd, 'state')) : [], [])
})

interface Rows {
  readonly upstreams: readonly Record<string, unknown>[]
  readonly listeners: readonly Record<string, unknown>[]
  readonly config: object
}
