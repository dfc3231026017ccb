import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { isObject, type JsonObject } from '../../../../src/plugin.ts'
import type { LoginServer } from '../../../fixtures/oauth/login-server.ts'
import { scene, type Scene } from './scene.ts'

/*
 * Answers of Keycloak to a refresh, as its TokenManager and its users' reports have them. Each is an answer of the
 * token endpoint after a login that worked.
 */
const GONE: Readonly<Record<string, string>> = {
  'a refresh token that was used before, with rotation': 'Maximum allowed refresh token reuse exceeded',
  'a session that its owner or an administrator ended': 'Session not active',
}

/** A gateway that is logged in, with an access token that the server has just stopped to take. */
async function loggedIn(t: TestContext): Promise<Scene> {
  const made = await scene(t)
  await made.logIn()
  await made.gateway.start()
  await made.gateway.settled()
  assert.match(await made.call(), /paid/)
  made.server.good.clear()
  made.server.asked.length = 0
  return made
}

async function row({ gateway }: Scene): Promise<JsonObject> {
  const { logins } = await gateway.control('login.list')
  const [first] = Array.isArray(logins) ? logins.filter(isObject) : []
  return first ?? {}
}

for (const [what, error_description] of Object.entries(GONE))
  test(`${what} ends the login at once, and nobody asks again`, async t => {
    const here = await loggedIn(t)
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

test('a lifespan of 0 is no reason to renew with each call', async t => {
  const here = await loggedIn(t)
  const more = { expires_in: 0, refresh_expires_in: 0, refresh_token: 'kc-refresh', scope: 'openid' }
  here.server.next.push(tokensOf(here.server, more))

  for (let n = 0; n < 3; n++) assert.match(await here.call(), /paid/)
  assert.equal(here.server.asked.length, 1)
})

test('a realm that is not up yet, or is behind a proxy that says so, costs nobody the login', async t => {
  const here = await loggedIn(t)
  here.server.next.push({ status: 503, body: '<html>Service Unavailable</html>' })
  assert.match(await here.call(), /is unreachable/)
  assert.equal((await row(here)).state, 'granted')
})

test('a client that was disabled is no fault of the login', async t => {
  const here = await loggedIn(t)
  const error_description = 'Invalid client or Invalid client credentials'
  here.server.next.push({ status: 401, body: { error: 'unauthorized_client', error_description } })
  assert.match(await here.call(), /unauthorized_client/)
  assert.equal((await row(here)).state, 'granted')
})
