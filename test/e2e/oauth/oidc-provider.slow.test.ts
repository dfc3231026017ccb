import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Provider } from 'oidc-provider'
import {
  closeAfter,
  testClient,
  testGateway,
  testUpstream,
  type TestClient,
  type TestGateway,
} from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { Person } from '../../fixtures/person.ts'
import { protectedServer, type Denied, type ProtectedServer } from '../../fixtures/oauth/protected-server.ts'

const REDIRECT = 'http://127.0.0.1:9/oauth/callback'
const LONGEST_MS = 30_000

interface World {
  readonly gateway: TestGateway
  readonly client: TestClient
  readonly person: Person
  /** Scopes of every access token that is good, by the token. */
  readonly tokens: Map<string, string>
  /** Events at the authorization server, in order. */
  readonly events: string[]
}

/** A gateway before an MCP server whose tokens come from `oidc-provider`, as it is on npm. */
async function world(t: TestContext, accessTokenTTL = 3600): Promise<World> {
  const tools = { read: () => 'read', drop: () => 'dropped' }
  const behind = closeAfter(t, await testUpstream({ tools }))
  const tokens = new Map<string, string>()
  const events: string[] = []
  let issuer = ''
  const server: ProtectedServer = closeAfter(
    t,
    await protectedServer({
      behind: behind.url,
      check: (token, _request, body): Denied | undefined => denied(tokens.get(token ?? ''), body, server.origin),
      serve: (request, response) => {
        if (request.url !== '/.well-known/oauth-protected-resource/mcp') return false
        const metadata = { resource: server.url, authorization_servers: [issuer] }
        response.setHeader('content-type', 'application/json').end(JSON.stringify(metadata))
        return true
      },
    }),
  )
  issuer = await authorizationServer(t, { accessTokenTTL, tokens, events })
  const config = { cache: false, upstreams: { web: { type: 'http', url: server.url, oauth: {} } } }
  const gateway = closeAfter(t, await testGateway({ config }))
  const client = closeAfter(t, await testClient(gateway))
  return { gateway, client, person: new Person(), tokens, events }
}

function denied(scope: string | undefined, body: string, origin: string): Denied | undefined {
  const metadata = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`
  if (scope === undefined) return { status: 401, challenge: `Bearer ${metadata}, scope="read"` }
  if (!body.includes('"drop"') || scope.split(' ').includes('write')) return undefined
  return { status: 403, challenge: `Bearer error="insufficient_scope", scope="write", ${metadata}` }
}

interface Served {
  readonly accessTokenTTL: number
  readonly tokens: Map<string, string>
  readonly events: string[]
}

async function authorizationServer(t: TestContext, { accessTokenTTL, tokens, events }: Served): Promise<string> {
  let serve: RequestListener = (_request, response) => response.end()
  const server = createServer((request, response) => serve(request, response))
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  cleanup(t, () => {
    server.closeAllConnections()
    server.close()
  })
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const provider = new Provider(issuer, {
    scopes: ['openid', 'offline_access', 'read', 'write'],
    cookies: { keys: ['for tests'] },
    rotateRefreshToken: true,
    issueRefreshToken: () => Promise.resolve(true),
    ttl: { RefreshToken: 3600, Session: 3600, Grant: 3600, Interaction: 3600, AuthorizationCode: 60 },
    features: {
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => Promise.resolve(true),
        getResourceServerInfo: () => ({
          scope: 'read write',
          accessTokenFormat: 'opaque' as const,
          accessTokenTTL,
        }),
      },
    },
  })
  provider.on('access_token.saved', token => void tokens.set(token.jti, token.scope ?? ''))
  provider.on('refresh_token.saved', () => void events.push('refresh token saved'))
  provider.on('refresh_token.consumed', () => void events.push('refresh token consumed'))
  provider.on('registration_create.success', () => void events.push('registered'))
  provider.on('grant.error', (_context, error) => void events.push(`refused: ${error.message}`))
  serve = provider.callback()
  return issuer
}

async function login({ gateway, person }: World): Promise<readonly string[]> {
  const begun = await gateway.gateway.control('login.begin', { upstream: 'web', redirectUri: REDIRECT })
  const back = await person.follow(String(begun.url), REDIRECT)
  const finished = await gateway.gateway.control('login.finish', { url: back })
  return finished.scopes as string[]
}

async function call({ client }: World, name: string): Promise<string> {
  const { result, error } = await client.request('tools/call', { name: `web__${name}` })
  return error === undefined ? JSON.stringify(result) : String((error.data as { code?: string }).code)
}

/** Calls until that is the outcome: after a login the upstream connects anew. */
async function callUntil(of: World, name: string, expected: RegExp): Promise<void> {
  const end = Date.now() + LONGEST_MS
  let last = ''
  while (!expected.test((last = await call(of, name)))) {
    if (Date.now() > end) assert.match(last, expected)
    await pause(50)
  }
}

test('a login with oidc-provider: registered once, logged in by code and PKCE, and then the tool answers', async t => {
  const of = await world(t)
  assert.equal(of.gateway.gateway.upstreams.get('web')?.status().state, 'needs_auth')

  const scopes = await login(of)
  await callUntil(of, 'read', /"text":"read"/)

  assert.deepEqual(scopes, ['read'])
  assert.deepEqual(
    of.events.filter(event => event === 'registered'),
    ['registered'],
  )
  await login(of)
  assert.equal(of.events.filter(event => event === 'registered').length, 1, 'the registration is used again')
})

test(
  'a refresh token that is rotated is used once, and the next refresh uses the new one',
  { timeout: 90_000 },
  async t => {
    const of = await world(t, 2)
    await login(of)

    const end = Date.now() + 2 * LONGEST_MS
    while (of.events.filter(event => event === 'refresh token consumed').length < 2) {
      assert.ok(Date.now() < end, of.events.join('\n'))
      await callUntil(of, 'read', /"text":"read"/)
      await pause(200)
    }

    assert.deepEqual(
      of.events.filter(event => event.startsWith('refused')),
      [],
    )
    assert.match(await call(of, 'read'), /"text":"read"/)
  },
)

test('a call that needs more asks for a login with all the scopes that there were, and its own', async t => {
  const of = await world(t)
  await login(of)
  await callUntil(of, 'read', /"text":"read"/)

  assert.equal(await call(of, 'drop'), 'GW_LOGIN_NEEDED')
  assert.match(await call(of, 'read'), /"text":"read"/, 'others go on')
  const scopes = await login(of)

  assert.deepEqual(new Set(scopes), new Set(['read', 'write']))
  await callUntil(of, 'drop', /dropped/)
  assert.match(await call(of, 'read'), /"text":"read"/)
})

test('what came back from the browser is good once, and only with the issuer that was asked', async t => {
  const of = await world(t)
  const { gateway } = of.gateway
  const begin = async (): Promise<string> => {
    const begun = await gateway.control('login.begin', { upstream: 'web', redirectUri: REDIRECT })
    return of.person.follow(String(begun.url), REDIRECT)
  }
  const swapped = new URL(await begin())
  swapped.searchParams.set('iss', 'http://127.0.0.1:1')
  const withSlash = new URL(await begin())
  withSlash.searchParams.set('iss', `${withSlash.searchParams.get('iss')}/`)
  const without = new URL(await begin())
  without.searchParams.delete('iss')
  const good = await begin()

  for (const url of [swapped, withSlash, without]) {
    await assert.rejects(gateway.control('login.finish', { url: url.href }), { code: 'GW_LOGIN_FAILED' })
    await assert.rejects(gateway.control('login.finish', { url: url.href }), { code: 'GW_LOGIN_UNKNOWN' })
  }
  await gateway.control('login.finish', { url: good })
  await assert.rejects(gateway.control('login.finish', { url: good }), { code: 'GW_LOGIN_UNKNOWN' })
  assert.equal(of.tokens.size, 1)
})
