import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { test, type TestContext } from 'node:test'
import { closeAfter, testUpstream } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { loginServer, type LoginServer } from '../../fixtures/oauth/login-server.ts'
import { LAUNCHER } from '../../peers/gateway.ts'
import { directory, gateway } from '../cli/run.ts'
import { pageOf } from './log-in.ts'

/** Gives a program a terminal of its own; it belongs to util-linux, which every Linux has. */
const hasScript = spawnSync('script', ['--version']).status === 0 && process.platform === 'linux'
const skip = hasScript || process.env.CI !== undefined ? false : 'script (util-linux) is not here'
const HEADLESS = { DISPLAY: '', WAYLAND_DISPLAY: '', SSH_CONNECTION: 'a b c d' }

interface Terminal {
  readonly exit: Promise<number | null>
  readonly stderr: () => string
  type(line: string): void
  shows(what: RegExp): Promise<void>
}

/** Runs `gateway login` at a terminal. */
function atTerminal(t: TestContext, cwd: string, args: readonly string[]): Terminal {
  const command = [process.execPath, LAUNCHER, 'login', 'web', ...args].map(one => `'${one}'`).join(' ')
  const child = spawn('script', ['-qefc', command, '/dev/null'], {
    cwd,
    env: { ...process.env, ...HEADLESS },
  })
  cleanup(t, () => void child.kill())
  let shown = ''
  child.stdout.on('data', (bytes: Buffer) => (shown += bytes.toString()))
  const exit = new Promise<number | null>(resolve => child.once('close', resolve))
  return {
    exit,
    stderr: () => shown,
    type: line => void child.stdin.write(`${line}\r`),
    shows: async what => {
      while (!what.test(shown)) {
        const ended = await Promise.race([exit, new Promise(resolve => setTimeout(resolve, 20, 'runs'))])
        if (ended !== 'runs') throw new Error(`it ended with ${String(ended)}: ${shown}`)
      }
    },
  }
}

async function place(t: TestContext): Promise<{ cwd: string; server: LoginServer }> {
  const behind = closeAfter(t, await testUpstream({ tools: { whoami: () => 'here' } }))
  const server = closeAfter(t, await loginServer(behind.url))
  const upstreams = { web: { type: 'http', url: server.url, oauth: {} } }
  const yaml = JSON.stringify({ state: { directory: 'state' }, upstreams })
  return { cwd: await directory(t, { 'gateway.yaml': yaml }), server }
}

/** Address at which the browser of another machine ends, which nobody serves there. */
async function addressFor(page: string): Promise<string> {
  const { headers } = await fetch(page, { redirect: 'manual' })
  return headers.get('location') ?? ''
}

test('the address at which a browser elsewhere ended is pasted, and the login is made', { skip }, async t => {
  const { cwd, server } = await place(t)
  const terminal = atTerminal(t, cwd, ['--no-browser'])
  const page = await pageOf(terminal)
  assert.ok(page, terminal.stderr())
  await terminal.shows(/address/)
  const address = await addressFor(page)
  const other = new URL(address)
  other.searchParams.set('state', 'of-somebody-else')
  for (const wrong of ['nonsense', other.href, address.replace('127.0.0.1', 'localhost')]) {
    const before = terminal.stderr().split('That is not where this login ends').length
    terminal.type(wrong)
    await terminal.shows(new RegExp(`^(?:[^]*?That is not where this login ends){${before}}`))
  }
  assert.equal(server.asked.length, 0)

  terminal.type(address)
  assert.equal(await terminal.exit, 0, terminal.stderr())
  assert.match(terminal.stderr(), /logged in to web: read write/)
  const called = await gateway(['call', 'web__whoami'], { cwd })
  assert.match(called.stdout, /here/, called.stderr)
  for (const token of server.given) assert.ok(!terminal.stderr().includes(token))
})

test('a pasted refusal is one, and Ctrl-C gives the login up', { skip }, async t => {
  const { cwd, server } = await place(t)
  server.person.answer = 'no'
  const refused = atTerminal(t, cwd, ['--no-browser'])
  const page = await pageOf(refused)
  assert.ok(page, refused.stderr())
  await refused.shows(/address/)
  refused.type(await addressFor(page))
  assert.equal(await refused.exit, 1, refused.stderr())
  assert.match(refused.stderr(), /access_denied/)

  const left = atTerminal(t, cwd, ['--no-browser'])
  await left.shows(/authorize[^]*address/)
  left.type('\u0003')
  assert.equal(await left.exit, 130, left.stderr())
  const { stdout } = await gateway(['logins', '--json'], { cwd })
  assert.match(stdout, /"state": ?"needs_auth"/)
})
