import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { appendFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { setTimeout as passed } from 'node:timers/promises'
import { redisFor, skip } from '../../fixtures/redis.ts'
import { behindLogin, loggingIn, NO_BROWSER, type BehindLogin } from '../manners/places.ts'
import { gateway, serving, type Serving } from '../cli/run.ts'

/** Logs in with nothing running, and says what the command said. */
async function loggedIn(t: TestContext, where: BehindLogin): Promise<string> {
  const login = await loggingIn(t, where)
  const said = text(login.child.stdout)
  assert.equal(await login.exit, 0, login.stderr())
  return said
}

async function states(cwd: string): Promise<unknown[]> {
  const { stdout, stderr } = await gateway(['logins', '--json'], { cwd, env: NO_BROWSER })
  assert.notEqual(stdout, '', stderr)
  const { logins } = JSON.parse(stdout) as { logins: { state: string; account: string }[] }
  return logins.map(({ state, account }) => `${account} ${state}`)
}

async function served(t: TestContext, cwd: string): Promise<Serving> {
  const running = serving(t, ['serve'], { cwd, env: NO_BROWSER })
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
    const cluster = `cluster: { redis: "${redis.url}", keys: [{ id: a, key: "${Buffer.alloc(32, 8).toString('base64')}" }] }\n`
    const alone = await behindLogin(t)
    const other = await behindLogin(t, cluster, alone.server)
    const [{ cwd: here }, { cwd: there }] = [alone, other]
    const file = join(here, 'state', 'grants.sqlite')
    const said = await loggedIn(t, alone)
    assert.match(said, /^logged in to web/)
    assert.match(said, /kept in .*state[/\\]grants\.sqlite/)
    assert.ok(existsSync(file))

    await appendFile(join(here, 'gateway.yaml'), cluster)
    const one = await served(t, here)
    await until(() => existsSync(`${file}.carried-over`))
    assert.ok(!existsSync(file))
    for (const cwd of [here, there]) assert.deepEqual(await states(cwd), ['gateway granted'])
    assert.match((await gateway(['call', 'web__whoami'], { cwd: there, env: NO_BROWSER })).stdout, /here/)

    assert.equal((await gateway(['logout', 'web'], { cwd: here, env: NO_BROWSER })).code, 0)
    one.child.kill('SIGTERM')
    await one.exit
    await served(t, here)
    assert.deepEqual(await states(there), ['gateway needs_auth'])

    assert.match(await loggedIn(t, other), /kept in the Redis of "cluster", for all replicas/)
    assert.deepEqual(await states(here), ['gateway granted'])
  },
)
