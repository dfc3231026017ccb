import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createKey } from '../../../../src/cli/scaffold.ts'
import type { JsonObject } from '../../../../src/plugin.ts'
import { badTokens } from '../../../proof/access/bad-tokens.ts'
import { startIssuer, type Issuer } from '../../../proof/access/issuer.ts'
import { bearer, call, jwt, RESOURCE, send, serve, toolNames } from './gateway.ts'

let issuer: Issuer
before(async () => (issuer = await startIssuer()))
after(() => issuer.close())

const ci = createKey('ci', [])

describe('a token', () => {
  test('of the issuer for this resource opens the door; its keys are fetched once', async t => {
    const gateway = await serve(t, jwt(issuer))
    const before = issuer.fetches()
    for (let i = 0; i < 3; i++) assert.equal((await call(gateway, 'db__read', await issuer.sign(RESOURCE))).status, 200)
    assert.equal(issuer.fetches() - before, 1)
  })

  test('that is wrong in any way is 401 with the way to the metadata', async t => {
    const gateway = await serve(t, { ...jwt(issuer), keys: [{ name: 'ci', hash: ci.hash }] })
    const bad = await badTokens(issuer, RESOURCE)
    assert.ok(bad.length >= 40, `${bad.length} are not enough`)
    const passed: string[] = []
    for (const { why, headers } of bad) {
      const reply = await send(gateway, 'tools/call', { name: 'db__read' }, headers)
      const challenge = reply.headers.get('www-authenticate') ?? ''
      const isRefused =
        reply.status === 401 &&
        challenge.includes('resource_metadata="https://gateway.example/.well-known/oauth-protected-resource/mcp"')
      if (!isRefused) passed.push(`${why}: ${reply.status} ${challenge}`)
    }
    assert.deepEqual(passed, [])
  })

  test('in the query is none', async t => {
    const gateway = await serve(t, jwt(issuer))
    const reply = await send(
      { ...gateway, url: `${gateway.url}?access_token=${await issuer.sign(RESOURCE)}` },
      'tools/call',
      { name: 'db__read' },
      {},
    )
    assert.equal(reply.status, 401)
  })

  test('is refused while nobody knows the keys', async t => {
    const gateway = await serve(t, jwt(issuer))
    issuer.isDown = true
    assert.equal((await call(gateway, 'db__read', await issuer.sign(RESOURCE))).status, 401)
    issuer.isDown = false
  })

  test('must be young, say its type and have its claims, where that is asked', async t => {
    const gateway = await serve(t, jwt(issuer, { maxAge: '60s', type: 'at+jwt', requires: ['jti'], leeway: 0 }))
    const good = { typ: 'at+jwt' }
    const status = async (claims: JsonObject, header: JsonObject): Promise<number> =>
      (await call(gateway, 'db__read', await issuer.sign(RESOURCE, claims, header))).status
    assert.equal(await status({ jti: 'a' }, good), 200)
    assert.equal(await status({}, good), 401)
    assert.equal(await status({ jti: 'a' }, {}), 401)
    assert.equal(await status({ jti: 'a', iat: Math.floor(Date.now() / 1000) - 120 }, good), 401)
    assert.equal(await status({ jti: 'a', iat: undefined }, good), 401)
  })

  test('leads to the metadata of the resource, which is public', async t => {
    const gateway = await serve(t, { ...jwt(issuer), rules: [{ tools: '*__drop', scopes: ['db:drop'] }] })
    const reply = await fetch(new URL('/.well-known/oauth-protected-resource/mcp', gateway.url))
    assert.equal(reply.status, 200)
    assert.deepEqual(await reply.json(), {
      resource: RESOURCE,
      authorization_servers: [issuer.url],
      bearer_methods_supported: ['header'],
      scopes_supported: ['db:drop'],
    })
  })

  test('is made for the URL that the listener is bound to, where no other is configured', async t => {
    const gateway = await serve(t, { jwt: [{ issuer: issuer.url, jwks: issuer.jwks }] })
    assert.equal((await call(gateway, 'db__read', await issuer.sign(gateway.url))).status, 200)
    assert.equal((await call(gateway, 'db__read', await issuer.sign(RESOURCE))).status, 401)
  })
})

describe('a rule', () => {
  const rules = [
    { tools: 'db__drop', scopes: ['db:drop', 'db:read'] },
    { upstreams: 'db', principals: ['alice', 'bob'] },
  ]

  test('hides what a caller may not use, and says which scopes would do', async t => {
    const gateway = await serve(t, { ...jwt(issuer), rules })
    const plain = await issuer.sign(RESOURCE)
    const first = await call(gateway, 'db__drop', plain)
    assert.equal(first.status, 403)
    assert.equal(
      first.headers.get('www-authenticate'),
      'Bearer error="insufficient_scope", scope="db:drop db:read", ' +
        'resource_metadata="https://gateway.example/.well-known/oauth-protected-resource/mcp"',
    )
    assert.deepEqual(await toolNames(gateway, plain), ['db__read'])
    assert.equal((await call(gateway, 'db__drop', plain)).status, 403)
    const full = await issuer.sign(RESOURCE, { scope: 'db:read db:drop' })
    assert.deepEqual(await toolNames(gateway, full), ['db__read', 'db__drop'])
    assert.match(await (await call(gateway, 'db__drop', full)).text(), /gone/)
    assert.deepEqual(await toolNames(gateway, plain), ['db__read'])
  })

  test('that names principals hides it from others as if it were not there', async t => {
    const gateway = await serve(t, { ...jwt(issuer), rules })
    const mallory = await issuer.sign(RESOURCE, { sub: 'mallory', scope: 'db:read db:drop' })
    assert.deepEqual(await toolNames(gateway, mallory), [])
    const reply = await call(gateway, 'db__read', mallory)
    assert.equal(reply.status, 200)
    assert.match(await reply.text(), /Unknown tool: db__read/)
  })

  test('looks at the scopes of each request of a session', async t => {
    const gateway = await serve(t, { ...jwt(issuer), rules })
    const legacy = async (token: string, message: JsonObject, session?: string): Promise<Response> =>
      fetch(gateway.url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...bearer(token),
          ...(session === undefined ? {} : { 'mcp-session-id': session }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...message }),
      })
    const full = await issuer.sign(RESOURCE, { scope: 'db:read db:drop' })
    const plain = await issuer.sign(RESOURCE)
    const params = {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'a', version: '1' },
    }
    const opened = await legacy(full, { method: 'initialize', params })
    const session = opened.headers.get('mcp-session-id') ?? ''
    const drop = { method: 'tools/call', params: { name: 'db__drop' } }
    assert.match(await (await legacy(full, drop, session)).text(), /gone/)
    assert.equal((await legacy(plain, drop, session)).status, 403)
    assert.match(await (await legacy(full, drop, session)).text(), /gone/)
  })

  test('binds nobody on a local pipe', async t => {
    const gateway = await serve(t, { ...jwt(issuer), rules })
    const client = await gateway.gateway.connect()
    assert.match(JSON.stringify(await client.request('tools/call', { name: 'db__drop' })), /gone/)
  })
})
