import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { closeAfter, testGateway, testUpstream, type TestGateway } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { exchangeServer, type ExchangeServer } from '../../../fixtures/oauth/exchange-server.ts'
import { startIssuer, type Issuer } from '../../../proof/access/issuer.ts'
import { call, jwt, RESOURCE } from '../auth/gateway.ts'

interface World {
  readonly gateway: TestGateway
  readonly issuer: Issuer
  readonly server: ExchangeServer
  readonly asked: readonly URLSearchParams[]
}

/** A server whose authorization server exchanges tokens: `at-1 for <digest>` is good there. */
async function world(t: TestContext): Promise<World> {
  const behind = closeAfter(t, await testUpstream({ tools: { read: () => 'rows' } }))
  const issuer = await startIssuer()
  cleanup(t, () => issuer.close())
  const server = closeAfter(t, await exchangeServer(behind.url))
  const { asked } = server
  const client = { id: 'gateway', secret: 'of-the-gateway' }
  const oauth = { grant: 'exchange', issuer: server.origin, client, audience: 'api' }
  const upstreams = { db: { type: 'http', url: server.url, oauth } }
  const config = { upstreams, auth: jwt(issuer), cache: false }
  return { gateway: closeAfter(t, await testGateway({ config })), issuer, server, asked }
}

test('the token of each caller is exchanged once, and never reaches the server itself', async t => {
  const { gateway, issuer, server, asked } = await world(t)
  const [alice, bob] = [await issuer.sign(RESOURCE), await issuer.sign(RESOURCE, { sub: 'bob' })]

  for (const token of [alice, bob, alice, bob]) {
    const reply = await (await call(gateway, 'db__read', token)).text()
    assert.match(reply, /rows/)
  }

  assert.deepEqual(
    asked.map(form => form.get('subject_token')),
    [alice, bob],
  )
  for (const form of asked) {
    assert.equal(form.get('grant_type'), 'urn:ietf:params:oauth:grant-type:token-exchange')
    assert.equal(form.get('subject_token_type'), 'urn:ietf:params:oauth:token-type:access_token')
    assert.equal(form.get('resource'), server.url)
    assert.equal(form.get('audience'), 'api')
    assert.equal(form.get('scope'), 'read')
  }
  const seen = new Set(server.tokens.filter(token => token !== undefined))
  assert.deepEqual(seen, new Set(['exchanged-1', 'exchanged-2']))
})

test('a caller who comes with another token is not served with what the one before was good for', async t => {
  const { gateway, issuer, asked } = await world(t)
  const [wide, narrow] = [await issuer.sign(RESOURCE, { scope: 'all' }), await issuer.sign(RESOURCE, { scope: '' })]

  await call(gateway, 'db__read', wide)
  await call(gateway, 'db__read', narrow)

  assert.deepEqual(
    asked.map(form => form.get('subject_token')),
    [wide, narrow],
  )
})
