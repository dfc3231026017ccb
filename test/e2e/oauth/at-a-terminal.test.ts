import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { type AtTerminal, atTerminal, noTerminal } from '../../fixtures/terminal.ts'
import { gateway } from '../cli/run.ts'
import { behindLogin, pageOf } from '../manners/places.ts'

const HEADLESS = { DISPLAY: '', WAYLAND_DISPLAY: '', SSH_CONNECTION: 'a b c d' }

/** Runs `gateway login` at a terminal. */
function login(t: TestContext, cwd: string, args: readonly string[]): AtTerminal {
  return atTerminal(t, ['login', 'web', ...args], { cwd, env: HEADLESS })
}

/** Address at which the browser of another machine ends, which nobody serves there. */
async function addressFor(page: string): Promise<string> {
  const { headers } = await fetch(page, { redirect: 'manual' })
  return headers.get('location') ?? ''
}

test(
  'the address at which a browser elsewhere ended is pasted, and the login is made',
  { skip: noTerminal },
  async t => {
    const { cwd, server } = await behindLogin(t)
    const terminal = login(t, cwd, ['--no-browser'])
    const page = await pageOf({ ...terminal, stderr: terminal.shown })
    await terminal.shows(/address/)
    const address = await addressFor(page)
    const other = new URL(address)
    other.searchParams.set('state', 'of-somebody-else')
    for (const wrong of ['nonsense', other.href, address.replace('127.0.0.1', 'localhost')]) {
      const before = terminal.shown().split('not the redirect URL of this login').length
      terminal.type(wrong)
      await terminal.shows(new RegExp(`^(?:[^]*?not the redirect URL of this login){${before}}`))
    }
    assert.equal(server.asked.length, 0)

    terminal.type(address)
    assert.equal(await terminal.exit, 0, terminal.shown())
    assert.match(terminal.shown(), /logged in to web: read write/)
    const called = await gateway(['call', 'web__whoami'], { cwd })
    assert.match(called.stdout, /here/, called.stderr)
    for (const token of server.given) assert.ok(!terminal.shown().includes(token))
  },
)

test('a pasted refusal is one, and Ctrl-C gives the login up', { skip: noTerminal }, async t => {
  const { cwd, server } = await behindLogin(t)
  server.person.answer = 'no'
  const refused = login(t, cwd, ['--no-browser'])
  const page = await pageOf({ ...refused, stderr: refused.shown })
  await refused.shows(/address/)
  refused.type(await addressFor(page))
  assert.equal(await refused.exit, 7, refused.shown())
  assert.match(refused.shown(), /access_denied/)

  const left = login(t, cwd, ['--no-browser'])
  await left.shows(/authorize[^]*address/)
  left.type('\u0003')
  assert.equal(await left.exit, 130, left.shown())
  const { stdout } = await gateway(['logins', '--json'], { cwd })
  assert.match(stdout, /"state": ?"needs_auth"/)
})
