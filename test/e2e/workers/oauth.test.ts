import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { closeAfter, testUpstream } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { exchangeServer } from '../../fixtures/oauth/exchange-server.ts'
import { loginServer } from '../../fixtures/oauth/login-server.ts'
import { startIssuer } from '../../proof/access/issuer.ts'
import { hashOf } from '../../unit/rules/keys.ts'
import { gateway, serving } from '../cli/run.ts'
import { pageOf } from '../oauth/log-in.ts'
import { skipOne, twoWorkers, type Running } from './setting.ts'

const RESOURCE = 'https://gateway.example/mcp'
const ENV = { DISPLAY: '', WAYLAND_DISPLAY: '' }
const MODERN = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** Calls a tool over a connection of its own, so that the workers are asked in turn. */
async function call({ url }: Running, tool: string, credential: string): Promise<string> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': tool,
      authorization: `Bearer ${credential}`,
      connection: 'close',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: tool, arguments: {}, _meta: MODERN },
    }),
  })
  return response.text()
}

/** Logs in with the command, and plays the browser. */
async function login(t: TestContext, cwd: string, args: readonly string[]): Promise<void> {
  const command = serving(t, ['login', ...args], { cwd, env: ENV })
  const page = await pageOf(command)
  assert.ok(page, command.stderr())
  await fetch(page)
  assert.equal(await command.exit, 0, command.stderr())
}

test('a login is made once for all workers, and each caller has a token of its own', async t => {
  const behind = closeAfter(t, await testUpstream({ tools: { whoami: () => 'here' } }))
  const [shared, own] = [
    closeAfter(t, await loginServer(behind.url)),
    closeAfter(t, await loginServer(behind.url)),
  ]
  const running = await twoWorkers(t, {
    state: { directory: 'state' },
    auth: {
      keys: [
        { name: 'ci', hash: hashOf('ci') },
        { name: 'dev', hash: hashOf('dev') },
      ],
    },
    upstreams: {
      web: { type: 'http', url: shared.url, oauth: {} },
      own: { type: 'http', url: own.url, oauth: { account: 'caller' } },
    },
  })
  await login(t, running.cwd, ['web'])
  await running.logged('upstream is ready')
  for (let i = 0; i < 4; i++) assert.match(await call(running, 'web__whoami', 'ci'), /here/)
  assert.equal(shared.given.length, 2, 'one access token and one refresh token')

  for (let i = 0; i < 2; i++) {
    const said = await call(running, 'own__whoami', 'ci')
    assert.match(said, /needs a login of yours first/)
    assert.match(said, /gateway login own --account key:ci/)
    assert.doesNotMatch(said, /oauth\/connect/)
  }
  const waiting = (await running.ps()).upstreams.find(({ name }) => name === 'own')
  assert.deepEqual((waiting as { logins?: unknown } | undefined)?.logins, { granted: 0, waiting: 1 })

  await login(t, running.cwd, ['own', '--account', 'key:ci'])
  for (let i = 0; i < 4; i++) {
    await skipOne(running.url)
    assert.match(await call(running, 'own__whoami', 'ci'), /here/)
  }
  assert.equal(own.given.length, 2)
  assert.match(await call(running, 'own__whoami', 'dev'), /needs a login of yours first/)
  const { stdout } = await gateway(['logins'], { cwd: running.cwd })
  assert.match(stdout, /own +key:ci +granted/)
  assert.match(stdout, /own +key:dev +needs_auth/)
})

test("a caller's token is exchanged by the one process that has the server, whichever worker it came to", async t => {
  const behind = closeAfter(t, await testUpstream({ tools: { read: () => 'rows' } }))
  const server = closeAfter(t, await exchangeServer(behind.url))
  const issuer = await startIssuer()
  cleanup(t, () => issuer.close())
  const client = { id: 'gateway', secret: 'of-the-gateway' }
  const running = await twoWorkers(t, {
    auth: { jwt: [{ issuer: issuer.url, jwks: issuer.jwks }], resource: RESOURCE },
    cache: false,
    upstreams: {
      db: { type: 'http', url: server.url, oauth: { grant: 'exchange', issuer: server.origin, client } },
    },
  })
  const [alice, bob] = [await issuer.sign(RESOURCE), await issuer.sign(RESOURCE, { sub: 'bob' })]
  for (let round = 0; round < 3; round++)
    for (const token of [alice, bob]) {
      assert.match(await call(running, 'db__read', token), /rows/)
      await skipOne(running.url)
    }
  assert.deepEqual(
    server.asked.map(form => form.get('subject_token')),
    [alice, bob],
  )
  for (const token of [alice, bob]) {
    assert.ok(!server.tokens.includes(token), 'the server itself never sees it')
    assert.ok(!running.stderr().includes(token))
  }
})
