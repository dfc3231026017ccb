import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { hashOf } from '../../unit/rules/keys.ts'
import { behindLogin, callAs, loggingIn, pageOf, visit, type BehindLogin } from '../manners/places.ts'
import { gateway, serving } from './run.ts'

async function logins(
  where: BehindLogin,
): Promise<{ state: string; why?: string; account: string; renews?: boolean }[]> {
  const { stdout, stderr } = await gateway(['logins', '--json'], where)
  return (JSON.parse(stdout === '' ? stderr : stdout) as { logins: never[] }).logins
}

test('a login alone is kept, sealed and for its owner, and the next gateway uses it', async t => {
  const where = await behindLogin(t)
  const { cwd, server } = where
  assert.deepEqual(
    (await logins(where)).map(({ state, why }) => [state, why]),
    [['needs_auth', 'not logged in']],
  )

  const login = await loggingIn(t, where)
  assert.equal(await login.exit, 0, login.stderr())
  const [kept] = await logins(where)
  assert.deepEqual([kept?.state, kept?.account, kept?.renews], ['granted', 'gateway', true])

  const called = await gateway(['call', 'web__whoami'], where)
  assert.match(called.stdout, /here/, called.stderr)
  for (const file of readdirSync(join(cwd, 'state'))) {
    assert.equal(statSync(join(cwd, 'state', file)).mode & 0o077, 0, file)
    const bytes = statSync(join(cwd, 'state', file)).isFile() ? readFileSync(join(cwd, 'state', file), 'latin1') : ''
    for (const token of server.given) assert.ok(!bytes.includes(token), file)
  }
})

test('a gateway that runs needs the login, is told, and goes on with it', async t => {
  const where = await behindLogin(t)
  const { cwd, env, server } = where
  const running = serving(t, ['serve'], { cwd, env })
  const needed = await running.logged('upstream requires a login')
  assert.match(String(needed.problem), /not logged in\. Run: gateway login web/)

  const before = JSON.parse((await gateway(['ps', '--json'], where)).stdout) as {
    upstreams: { state: string }[]
  }
  assert.equal(before.upstreams[0]?.state, 'needs_auth')
  for (const args of [
    ['call', 'web__whoami'],
    ['start', 'web'],
  ]) {
    const { code, stderr } = await gateway(args, where)
    assert.equal(code, 7, stderr)
    assert.match(
      stderr,
      /^error GW_UPSTREAM_LOGIN: upstream "web" needs a login: not logged in\. Run: gateway login web\.$/m,
    )
  }
  const login = await loggingIn(t, where, ['--json'])
  assert.equal(await login.exit, 0, login.stderr())
  await running.logged('upstream ready')
  const called = await gateway(['call', 'web__whoami'], where)
  assert.match(called.stdout, /here/, called.stderr)

  const out = await gateway(['logout', 'web'], where)
  assert.match(out.stdout, /logged out of web, and revoked/)
  assert.equal(server.revoked.length, 1)
  for (const token of server.given) assert.ok(!running.stderr().includes(token))
})

test('a login that another process makes is found by a gateway that runs', async t => {
  const where = await behindLogin(t)
  const { cwd, env } = where
  const running = serving(t, ['serve'], { cwd, env })
  await running.logged('upstream requires a login')
  // With a value set for the command alone it is a gateway of its own.
  const login = await loggingIn(t, where, ['--set', 'log.level=error'])
  assert.equal(await login.exit, 0, login.stderr())
  await running.logged('upstream ready')
})

test('a person who says no is told so, with exit code 7', async t => {
  const where = await behindLogin(t)
  where.server.person.answer = 'no'
  const login = await loggingIn(t, where)
  assert.equal(await login.exit, 7)
  assert.match(login.stderr(), /access_denied/)
  assert.equal((await logins(where))[0]?.state, 'needs_auth')
})

test('nobody comes: exit code 7', async t => {
  const where = await behindLogin(t)
  const { code, stderr } = await gateway(['login', 'web', '--timeout', '300ms'], where)
  assert.equal(code, 7, stderr)
  assert.match(stderr, /login to upstream "web" timed out/)
})

test('the way back takes the login that was begun, from this machine, once', async t => {
  const where = await behindLogin(t)
  const login = serving(t, ['login', 'web'], where)
  const page = new URL(await pageOf(login))
  const redirect = page.searchParams.get('redirect_uri') ?? ''
  const answers = [
    await fetch(`${redirect}?code=x&state=another`),
    await fetch(`${redirect}?code=x`),
    await fetch(`${redirect}?<script>alert(1)</script>`),
    await fetch(redirect.replace('/oauth/callback', '/')),
    await fetch(redirect, { method: 'POST' }),
  ]
  for (const answer of answers) {
    assert.ok(answer.status === 400 || answer.status === 404)
    assert.doesNotMatch(await answer.text(), /script/)
    assert.match(answer.headers.get('content-security-policy') ?? '', /default-src 'none'/)
  }
  const back = await visit(page.href)
  assert.equal(back.status, 200)
  assert.equal(await login.exit, 0, login.stderr())
})

test('a login for a caller is that of this caller alone, and is named everywhere', async t => {
  const where = await behindLogin(t)
  const { cwd, env, server } = where
  const keys = ['ci', 'dev'].map(name => ({ name, hash: hashOf(name) }))
  await writeFile(
    join(cwd, 'gateway.yaml'),
    JSON.stringify({
      listeners: { main: { type: 'http', port: 0 } },
      state: { directory: 'state' },
      auth: { keys },
      upstreams: { web: { type: 'http', url: server.url, oauth: { account: 'caller' } } },
    }),
  )
  const running = serving(t, ['serve'], { cwd, env })
  const url = String((await running.logged('listening'))['url'])
  const call = (key: string) => callAs(url, key)
  for (const key of ['ci', 'dev', 'ci']) assert.match(await call(key), /requires you to log in/)
  const nameless = await gateway(['login', 'web'], where)
  assert.match(nameless.stderr, /each caller of "web" has its own login: set --account/)
  assert.notEqual(nameless.code, 0)

  const login = await loggingIn(t, where, ['--account', 'key:ci'])
  assert.equal(await login.exit, 0, login.stderr())
  assert.match(await call('ci'), /here/)
  assert.match(await call('dev'), /requires you to log in/)

  const listed = (await gateway(['logins'], where)).stdout
  assert.match(listed, /web +key:ci +granted/)
  assert.match(listed, /web +key:dev +needs_auth/)
  for (const token of server.given) assert.ok(!(listed + running.stderr()).includes(token))

  const other = await gateway(['logout', 'web', '--account', 'key:dev'], where)
  assert.match(other.stdout, /not logged in/)
  const out = await gateway(['logout', 'web', '--account', 'key:ci'], where)
  assert.match(out.stdout, /logged out of web/)
  assert.match(await call('ci'), /requires you to log in/)
  assert.doesNotMatch((await gateway(['logins'], where)).stdout, /granted/)
})
