import assert from 'node:assert/strict'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { test, type TestContext } from 'node:test'
import { closeAfter, testGateway, testUpstream, type TestGateway } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { protectedServer, type Denied, type ProtectedServer } from '../../../fixtures/protected-server.ts'
import { startIssuer, type Issuer } from '../../../proof/access/issuer.ts'
import { call, jwt, RESOURCE } from '../auth/gateway.ts'

interface World {
  readonly gateway: TestGateway
  readonly issuer: Issuer
  readonly server: ProtectedServer
  /** Requests to the token endpoint. */
  readonly asked: URLSearchParams[]
}

/** A server whose authorization server exchanges tokens: `at-1 for <digest>` is good there. */
async function world(t: TestContext): Promise<World> {
  const behind = closeAfter(t, await testUpstream({ tools: { read: () => 'rows' } }))
  const issuer = await startIssuer()
  cleanup(t, () => issuer.close())
  const asked: URLSearchParams[] = []
  const server: ProtectedServer = closeAfter(
    t,
    await protectedServer({
      behind: behind.url,
      check: (token): Denied | undefined =>
        token?.startsWith('exchanged-') === true
          ? undefined
          : { status: 401, challenge: 'Bearer scope="read"' },
      serve: (request, response) => serveOAuth(request, response, { origin: server.origin, asked }),
    }),
  )
  const client = { id: 'gateway', secret: 'of-the-gateway' }
  const oauth = { grant: 'exchange', issuer: server.origin, client, audience: 'api' }
  const upstreams = { db: { type: 'http', url: server.url, oauth } }
  const config = { upstreams, auth: jwt(issuer), cache: false }
  return { gateway: closeAfter(t, await testGateway({ config })), issuer, server, asked }
}

interface Served {
  readonly origin: string
  readonly asked: URLSearchParams[]
}

function serveOAuth(request: IncomingMessage, response: ServerResponse, { origin, asked }: Served): boolean {
  const answer = (body: object): true => {
    response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
    return true
  }
  if (request.url === '/.well-known/oauth-protected-resource/mcp')
    return answer({ resource: `${origin}/mcp`, authorization_servers: [origin] })
  if (request.url === '/.well-known/oauth-authorization-server')
    return answer({ issuer: origin, token_endpoint: `${origin}/token` })
  if (request.url !== '/token') return false
  void text(request).then(body => {
    const form = new URLSearchParams(body)
    asked.push(form)
    answer({
      access_token: `exchanged-${asked.length}`,
      issued_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      token_type: 'Bearer',
      expires_in: 3600,
    })
  })
  return true
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
  const [wide, narrow] = [
    await issuer.sign(RESOURCE, { scope: 'all' }),
    await issuer.sign(RESOURCE, { scope: '' }),
  ]

  await call(gateway, 'db__read', wide)
  await call(gateway, 'db__read', narrow)

  assert.deepEqual(
    asked.map(form => form.get('subject_token')),
    [wide, narrow],
  )
})
