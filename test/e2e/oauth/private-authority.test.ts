import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { setTimeout as passed } from 'node:timers/promises'
import { closeAfter, testUpstream } from '../../../src/testing/index.ts'
import { loginServer, type LoginServer } from '../../fixtures/oauth/login-server.ts'
import { authority } from '../../unit/fixtures/certificates.ts'
import { secureFetch } from '../../unit/listeners/tls/secure-client.ts'
import { directory, gatewayProcess as gateway, serving } from '../cli/run.ts'
import { pageOf } from '../manners/places.ts'

const ours = authority('Company CA')
const { cert: ca } = ours
const HEADLESS = {
  DISPLAY: '',
  WAYLAND_DISPLAY: '',
  NODE_EXTRA_CA_CERTS: undefined,
  SSL_CERT_FILE: undefined,
}

/** An MCP server with its authorization server, both behind the company's own authority; its tokens live so many seconds. */
async function company(t: TestContext, expiresIn = 3600): Promise<LoginServer> {
  const behind = closeAfter(t, await testUpstream({ tools: { whoami: () => 'here' } }))
  return closeAfter(t, await loginServer(behind.url, expiresIn, ours.certify('mcp')))
}

/** Whoever trusts the authority of the company, and by what. */
const TRUSTING: Readonly<Record<string, { readonly more: object; readonly env: NodeJS.ProcessEnv }>> = {
  'tls.ca of the upstream': { more: { tls: { ca: 'ca.pem' } }, env: {} },
  SSL_CERT_FILE: { more: {}, env: { SSL_CERT_FILE: 'ca.pem' } },
}

for (const [by, { more, env }] of Object.entries(TRUSTING))
  test(`an authorization server behind a private authority is asked where ${by} trusts that one`, async t => {
    const server = await company(t, 1)
    const upstreams = { web: { type: 'http', url: server.url, oauth: {}, ...more } }
    const yaml = JSON.stringify({ state: { directory: 'state' }, upstreams })
    const cwd = await directory(t, { 'gateway.yaml': yaml, 'ca.pem': ca })
    const where = { cwd, env: { ...HEADLESS, ...env } }
    const login = serving(t, ['login', 'web'], where)
    const page = await pageOf(login)
    const { headers } = await secureFetch(page, { ca })
    await fetch(headers.location ?? '')
    assert.equal(await login.exit, 0, login.stderr())
    // What lives for a second is renewed before it is used.
    await passed(1000)
    const called = await gateway(['call', 'web__whoami'], where)
    assert.match(called.stdout, /here/, called.stderr)
    assert.deepEqual(
      [...new Set(server.asked.map(form => form.get('grant_type')))],
      ['authorization_code', 'refresh_token'],
    )
    for (const form of server.asked) assert.equal(form.get('resource'), server.url, 'a renewal too')
    const out = await gateway(['logout', 'web'], where)
    assert.match(out.stdout, /logged out of web, and revoked/, out.stderr)
  })

test('nobody is sent to one that nobody vouches for', async t => {
  const server = await company(t)
  const upstreams = { web: { type: 'http', url: server.url, oauth: {} } }
  const yaml = JSON.stringify({ state: { directory: 'state' }, upstreams })
  const cwd = await directory(t, { 'gateway.yaml': yaml, 'ca.pem': authority('Another CA').cert })
  for (const env of [{}, { SSL_CERT_FILE: 'ca.pem' }]) {
    const { code, stderr } = await gateway(['login', 'web'], { cwd, env: { ...HEADLESS, ...env } })
    assert.notEqual(code, 0)
    assert.match(stderr, /certificate|self-signed/)
  }
  const broken = await gateway(['validate'], { cwd, env: { ...HEADLESS, SSL_CERT_FILE: 'nowhere.pem' } })
  assert.match(broken.stderr, /SSL_CERT_FILE.*nowhere\.pem.*ENOENT/)
  assert.equal(broken.code, 0, 'it is said, and nothing more')
})
