import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { JsonObject } from '../../../../src/plugin.ts'
import { startIssuer, type Issuer } from '../../../proof/access/issuer.ts'
import { call, jwt, RESOURCE, serve, toolNames } from './gateway.ts'

/** Requirements of 2026-07-28 for a resource server, row by row. */
let issuer: Issuer
before(async () => (issuer = await startIssuer()))
after(() => issuer.close())

const WELL_KNOWN = '/.well-known/oauth-protected-resource'
const tokensOf = ({ url, jwks }: Issuer): JsonObject => ({ jwt: [{ issuer: url, jwks }] })

function challengeOf(reply: Response): string {
  return reply.headers.get('www-authenticate') ?? ''
}

describe('the description of the resource', () => {
  test('stands behind the path of the endpoint, and without one only where the resource has none', async t => {
    const withPath = await serve(t, jwt(issuer))
    assert.equal((await fetch(new URL(`${WELL_KNOWN}/mcp`, withPath.url))).status, 200)
    const bare = await fetch(new URL(WELL_KNOWN, withPath.url))
    assert.equal(bare.status, 401)
    assert.match(challengeOf(bare), /oauth-protected-resource\/mcp"/)

    const atRoot = await serve(t, { ...jwt(issuer), resource: 'https://gateway.example/' })
    const described = (await (await fetch(new URL(WELL_KNOWN, atRoot.url))).json()) as JsonObject
    assert.equal(described.resource, 'https://gateway.example')
    const refused = await call(atRoot, 'db__read')
    assert.match(
      challengeOf(refused),
      /resource_metadata="https:\/\/gateway\.example\/\.well-known\/oauth-protected-resource"/,
    )
  })

  for (const [written, canonical] of [
    ['https://Gateway.Example:443/mcp/', 'https://gateway.example/mcp'],
    ['https://gateway.example:8443/Tools/MCP', 'https://gateway.example:8443/Tools/MCP'],
  ] as const)
    test(`names ${written} in its canonical form, for which tokens are good`, async t => {
      const gateway = await serve(t, { ...jwt(issuer), resource: written })
      const { pathname } = new URL(canonical)
      const reply = await fetch(new URL(WELL_KNOWN + pathname, gateway.url))
      assert.equal(((await reply.json()) as JsonObject).resource, canonical)
      assert.equal((await call(gateway, 'db__read', await issuer.sign(canonical))).status, 200)
    })

  test('is that of the public URL, whatever Host a request names', async t => {
    const main = {
      type: 'http',
      port: 0,
      publicUrl: 'https://gateway.example/tools/',
      allowedHosts: ['evil.example'],
    }
    const gateway = await serve(t, tokensOf(issuer), { listeners: { main } })
    const resource = 'https://gateway.example/tools/mcp'
    for (const host of ['evil.example', 'gateway.example', 'localhost']) {
      const headers = {
        host,
        forwarded: 'host=evil.example;proto=http',
        'x-forwarded-host': 'evil.example',
      }
      for (const path of ['/mcp', '/tools/mcp']) {
        const reply = await fetch(new URL(WELL_KNOWN + path, gateway.url), { headers })
        assert.equal(((await reply.json()) as JsonObject).resource, resource, host)
      }
      const refused = await fetch(gateway.url, { method: 'POST', headers })
      assert.equal(
        challengeOf(refused),
        'Bearer resource_metadata="https://gateway.example/.well-known/oauth-protected-resource/tools/mcp"',
      )
    }
    assert.equal((await call(gateway, 'db__read', await issuer.sign(resource))).status, 200)
    assert.equal((await call(gateway, 'db__read', await issuer.sign(gateway.url))).status, 401)
  })

  test('may be read by pages of an allowed origin, and so may challenges', async t => {
    const main = { type: 'http', port: 0, allowedOrigins: ['https://app.example'] }
    const gateway = await serve(t, jwt(issuer), { listeners: { main } })
    const origin = { origin: 'https://app.example' }
    const metadata = new URL(`${WELL_KNOWN}/mcp`, gateway.url)
    const asked = await fetch(metadata, {
      method: 'OPTIONS',
      headers: {
        ...origin,
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'mcp-protocol-version',
      },
    })
    assert.equal(asked.status, 204)
    assert.equal(asked.headers.get('access-control-allow-headers'), 'mcp-protocol-version')
    for (const reply of [
      asked,
      await fetch(metadata, { headers: origin }),
      await fetch(gateway.url, { method: 'POST', headers: origin }),
    ]) {
      assert.equal(reply.headers.get('access-control-allow-origin'), 'https://app.example')
      assert.match(reply.headers.get('vary') ?? '', /origin/i)
      const exposed = reply.headers.get('access-control-expose-headers') ?? ''
      for (const name of ['WWW-Authenticate', 'Mcp-Session-Id']) assert.ok(exposed.split(', ').includes(name), exposed)
    }
    const stranger = await fetch(metadata, { headers: { origin: 'https://evil.example' } })
    assert.equal(stranger.status, 403)
    assert.equal(stranger.headers.get('access-control-allow-origin'), null)
  })

  test('never asks for offline_access, and a rule that does is refused', async t => {
    const rules = [{ tools: '*', scopes: ['tools', 'offline_access'] }]
    await assert.rejects(serve(t, { ...jwt(issuer), rules }), (error: Error) => {
      assert.match(JSON.stringify(error), /offline_access.*has no effect/)
      return true
    })
  })
})

describe('a challenge', () => {
  const rules = [
    { tools: 'db__*', scopes: ['db:read'] },
    { tools: 'db__drop', scopes: ['db:write'] },
    { prompts: '*', scopes: ['prompts'] },
  ]

  test('has all scopes of this operation at once, and no others, whatever the token has of them', async t => {
    const gateway = await serve(t, { ...jwt(issuer), rules })
    for (const [tool, scope, asked] of [
      ['db__drop', '', 'db:read db:write'],
      ['db__drop', 'db:read', 'db:read db:write'],
      ['db__drop', 'db:write prompts', 'db:read db:write'],
      ['db__read', '', 'db:read'],
    ] as const) {
      const reply = await call(gateway, tool, await issuer.sign(RESOURCE, { scope }))
      assert.equal(reply.status, 403)
      assert.equal(
        challengeOf(reply),
        `Bearer error="insufficient_scope", scope="${asked}", ` +
          'resource_metadata="https://gateway.example/.well-known/oauth-protected-resource/mcp"',
      )
    }
  })

  test('is the same for who shows nothing, whatever is asked for', async t => {
    const gateway = await serve(t, {
      ...jwt(issuer),
      rules: [...rules, { tools: 'db__drop', principals: ['alice'] }],
    })
    const said = await Promise.all(
      ['db__drop', 'db__read', 'db__unknown', 'nothing'].map(async tool => {
        const reply = await call(gateway, tool)
        return [reply.status, challengeOf(reply), await reply.text()]
      }),
    )
    assert.equal(new Set(said.map(one => JSON.stringify(one))).size, 1)
  })
})

describe('a scope that implies others', () => {
  const rules = [
    { tools: 'db__read', scopes: ['db:read'] },
    { tools: 'db__drop', scopes: ['db:write', 'db:read'] },
  ]
  const implies = { 'db:admin': ['db:write'], 'db:write': ['db:read'], 'db:read': ['db:read', 'db:list'] }

  test('opens what they open, over any number of steps', async t => {
    const gateway = await serve(t, { ...jwt(issuer), rules, implies })
    for (const [scope, tools] of [
      ['db:admin', ['db__read', 'db__drop']],
      ['db:write', ['db__read', 'db__drop']],
      ['db:read', ['db__read']],
      ['db:list', []],
      ['db:administrator', []],
    ] as const)
      assert.deepEqual(await toolNames(gateway, await issuer.sign(RESOURCE, { scope })), tools, scope)
  })

  test('may go round in a circle, and is not implied by what it implies without one', async t => {
    const circle = { a: ['b'], b: ['c'], c: ['a'], 'db:write': ['a'] }
    const gateway = await serve(t, {
      ...jwt(issuer),
      rules: [{ tools: 'db__read', scopes: ['c'] }, ...rules.slice(1)],
      implies: circle,
    })
    for (const scope of ['a', 'b', 'c'])
      assert.deepEqual(await toolNames(gateway, await issuer.sign(RESOURCE, { scope })), ['db__read'])
  })
})
