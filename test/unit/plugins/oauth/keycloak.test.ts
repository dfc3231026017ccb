import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createGateway, type Gateway } from '../../../../src/gateway/gateway.ts'
import { isObject, type JsonObject } from '../../../../src/plugin.ts'
import { closeAfter, testUpstream } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { loginServer, type LoginServer } from '../../../fixtures/oauth/login-server.ts'
import { stateOf } from './vault/kit.ts'

/*
 * Answers of Keycloak to a refresh, as its TokenManager and its users' reports have them. Each is an answer of the
 * token endpoint after a login that worked.
 */
const GONE: Readonly<Record<string, string>> = {
  'a refresh token that was used before, with rotation': 'Maximum allowed refresh token reuse exceeded',
  'a session that its owner or an administrator ended': 'Session not active',
  'a refresh token beyond the idle time of the session': 'Token is not active',
  'a refresh token older than a logout of everybody': 'Stale token',
  'a session that was restored without this client': "Session doesn't have required client",
  'an offline session that was taken back': 'Offline session not active',
}

interface Scene {
  readonly gateway: Gateway
  readonly server: LoginServer
  call(): Promise<string>
}

/** A gateway that is logged in, with an access token that the server has just stopped to take. */
async function scene(t: TestContext): Promise<Scene> {
  const behind = closeAfter(t, await testUpstream({ tools: { whoami: () => 'here' } }))
  const server = closeAfter(t, await loginServer(behind.url))
  const gateway = await createGateway({
    version: 1,
    state: { directory: stateOf(t) },
    upstreams: { web: { type: 'http', url: server.url, oauth: {} } },
  })
  cleanup(t, () => gateway.close())
  const redirectUri = 'http://127.0.0.1:9/oauth/callback'
  const begun = await gateway.control('login.begin', { upstream: 'web', redirectUri })
  const back = await fetch(String(begun.url), { redirect: 'manual' })
  await gateway.control('login.finish', { url: back.headers.get('location') })
  await gateway.start()
  await gateway.settled()
  const client = await gateway.connect()
  const call = async (): Promise<string> => {
    try {
      return JSON.stringify(await client.request('tools/call', { name: 'web__whoami' }))
    } catch (error) {
      return String(error)
    }
  }
  assert.match(await call(), /here/)
  server.good.clear()
  server.asked.length = 0
  return { gateway, server, call }
}

async function row({ gateway }: Scene): Promise<JsonObject> {
  const { logins } = await gateway.control('login.list')
  const [first] = Array.isArray(logins) ? logins.filter(isObject) : []
  return first ?? {}
}

for (const [what, error_description] of Object.entries(GONE))
  test(`${what} ends the login at once, and nobody asks again`, async t => {
    const here = await scene(t)
    here.server.next.push({ status: 400, body: { error: 'invalid_grant', error_description } })

    assert.match(await here.call(), /needs a login: .*invalid_grant.*Run: gateway login web/)
    assert.match(await here.call(), /needs a login/)
    assert.equal(here.server.asked.length, 1)
    const { state, why } = await row(here)
    assert.equal(state, 'needs_auth')
    assert.match(String(why), /invalid_grant/)
  })

/** A token of Keycloak that the server takes. */
function tokensOf(server: LoginServer, more: object): { status: number; body: object } {
  server.good.add('kc-access')
  return {
    status: 200,
    body: {
      access_token: 'kc-access',
      token_type: 'Bearer',
      'not-before-policy': 0,
      session_state: '5c0f5bc2-7c65-4a4b-8d4d-0d3c2f1d4a55',
      ...more,
    },
  }
}

test('an offline token never ends: refresh_expires_in is 0', async t => {
  const here = await scene(t)
  const more = {
    expires_in: 300,
    refresh_expires_in: 0,
    refresh_token: 'kc-offline',
    scope: 'openid offline_access',
  }
  here.server.next.push(tokensOf(here.server, more))

  assert.match(await here.call(), /here/)
  const { state, renews, scopes } = await row(here)
  assert.deepEqual([state, renews, scopes], ['granted', true, ['openid', 'offline_access']])
})

test('a lifespan of 0 is no reason to renew with each call', async t => {
  const here = await scene(t)
  const more = { expires_in: 0, refresh_expires_in: 0, refresh_token: 'kc-refresh', scope: 'openid' }
  here.server.next.push(tokensOf(here.server, more))

  for (let n = 0; n < 3; n++) assert.match(await here.call(), /here/)
  assert.equal(here.server.asked.length, 1)
})

test('a scope that is said twice is one, and an answer without scopes leaves them as they were', async t => {
  const here = await scene(t)
  const twice = { expires_in: 300, refresh_token: 'kc-1', scope: 'profile email profile' }
  here.server.next.push(tokensOf(here.server, twice))
  await here.call()
  assert.deepEqual((await row(here)).scopes, ['profile', 'email'])
})

test('a rotated refresh token is the one that is presented next', async t => {
  const here = await scene(t)
  const more = { expires_in: 1, refresh_expires_in: 1800, refresh_token: 'kc-second', scope: 'openid' }
  here.server.next.push(tokensOf(here.server, more), tokensOf(here.server, { ...more, expires_in: 300 }))
  await here.call()
  while (here.server.asked.length < 2) {
    await here.call()
    await new Promise(resolve => setTimeout(resolve, 20))
  }
  assert.equal(here.server.asked[1]?.get('refresh_token'), 'kc-second')
})

test('a realm that is not up yet, or is behind a proxy that says so, costs nobody the login', async t => {
  const here = await scene(t)
  here.server.next.push({ status: 503, body: '<html>Service Unavailable</html>' })
  assert.match(await here.call(), /cannot be reached/)
  assert.equal((await row(here)).state, 'granted')
})

test('a client that was disabled is no fault of the login', async t => {
  const here = await scene(t)
  const error_description = 'Invalid client or Invalid client credentials'
  here.server.next.push({ status: 401, body: { error: 'unauthorized_client', error_description } })
  assert.match(await here.call(), /unauthorized_client/)
  assert.equal((await row(here)).state, 'granted')
})
