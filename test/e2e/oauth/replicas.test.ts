import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { setTimeout as passed } from 'node:timers/promises'
import { closeAfter, testUpstream } from '../../../src/testing/index.ts'
import { loginServer } from '../../fixtures/oauth/login-server.ts'
import { redisFor, skip } from '../../fixtures/redis.ts'
import { directory, gateway, serving, type Serving } from '../cli/run.ts'

const ENV = { DISPLAY: '', WAYLAND_DISPLAY: '' }

/** Logs in with nothing running, and says what the command said. */
async function loggedIn(t: TestContext, cwd: string): Promise<string> {
  const login = serving(t, ['login', 'web'], { cwd, env: ENV })
  const said = text(login.child.stdout)
  for (let tries = 0; tries < 1000; tries++) {
    const [page] = /http:\/\/127\.0\.0\.1:\d+\/authorize\S*/.exec(login.stderr()) ?? []
    if (page !== undefined) {
      await (await fetch(page)).text()
      break
    }
    await passed(20)
  }
  assert.equal(await login.exit, 0, login.stderr())
  return said
}

async function states(cwd: string): Promise<unknown[]> {
  const { stdout, stderr } = await gateway(['logins', '--json'], { cwd, env: ENV })
  assert.notEqual(stdout, '', stderr)
  const { logins } = JSON.parse(stdout) as { logins: { state: string; account: string }[] }
  return logins.map(({ state, account }) => `${account} ${state}`)
}

async function served(t: TestContext, cwd: string): Promise<Serving> {
  const running = serving(t, ['serve'], { cwd, env: ENV })
  await running.logged('serving')
  return running
}

async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  for (let tries = 0; tries < 300; tries++) {
    if (await holds()) return
    await passed(100)
  }
  throw new Error('it never came to be')
}

test(
  'a login of a gateway that was alone is that of all replicas, and a logout stays one',
  { skip },
  async t => {
    const redis = await redisFor(t)
    const behind = closeAfter(t, await testUpstream({ tools: { whoami: () => 'here' } }))
    const server = closeAfter(t, await loginServer(behind.url))
    const yaml = `
listeners: { main: { type: http, port: 0 } }
state: { directory: state }
upstreams:
  web: { type: http, url: "${server.url}", oauth: {} }
`
    const cluster = `cluster: { redis: "${redis.url}", keys: [{ id: a, key: "${Buffer.alloc(32, 8).toString('base64')}" }] }\n`
    const here = await directory(t, { 'gateway.yaml': yaml })
    const there = await directory(t, { 'gateway.yaml': yaml + cluster })
    const file = join(here, 'state', 'grants.sqlite')
    const said = await loggedIn(t, here)
    assert.match(said, /^logged in to web/)
    assert.match(said, /kept in .*state[/\\]grants\.sqlite/)
    assert.ok(existsSync(file))

    await appendFile(join(here, 'gateway.yaml'), cluster)
    const one = await served(t, here)
    await until(() => existsSync(`${file}.carried-over`))
    assert.ok(!existsSync(file))
    for (const cwd of [here, there]) assert.deepEqual(await states(cwd), ['gateway granted'])
    assert.match((await gateway(['call', 'web__whoami'], { cwd: there, env: ENV })).stdout, /here/)

    assert.equal((await gateway(['logout', 'web'], { cwd: here, env: ENV })).code, 0)
    one.child.kill('SIGTERM')
    await one.exit
    await served(t, here)
    assert.deepEqual(await states(there), ['gateway needs_auth'])

    assert.match(await loggedIn(t, there), /kept in the Redis of "cluster", for all replicas/)
    assert.deepEqual(await states(here), ['gateway granted'])
  },
)
