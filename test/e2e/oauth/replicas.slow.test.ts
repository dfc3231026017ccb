import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
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

test('a login at one replica is that of all, and a logout stays one', { skip }, async t => {
  const redis = await redisFor(t)
  const cluster = `cluster: { redis: "${redis.url}", keys: [{ id: a, key: "${Buffer.alloc(32, 8).toString('base64')}" }] }\n`
  const one = await behindLogin(t, cluster)
  const other = await behindLogin(t, cluster, one.server)
  const [{ cwd: here }, { cwd: there }] = [one, other]

  assert.match(await loggedIn(t, one), /stored in the Redis of "cluster", for all replicas/)
  const running = await served(t, here)
  for (const cwd of [here, there]) assert.deepEqual(await states(cwd), ['gateway granted'])
  assert.match((await gateway(['call', 'web__whoami'], { cwd: there, env: NO_BROWSER })).stdout, /here/)

  assert.equal((await gateway(['logout', 'web'], { cwd: here, env: NO_BROWSER })).code, 0)
  running.child.kill('SIGTERM')
  await running.exit
  await served(t, here)
  assert.deepEqual(await states(there), ['gateway needs_auth'])
})
