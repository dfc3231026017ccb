import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createKey } from '../../../../src/cli/scaffold.ts'
import { createGateway } from '../../../../src/gateway/gateway.ts'
import { closeAfter, testClient, testGateway } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { loginServer, type LoginServer } from '../../../fixtures/oauth/login-server.ts'
import { protectedServer } from '../../../fixtures/oauth/protected-server.ts'
import { mockApi, type MockApi } from '../../../fixtures/openapi/mock-api.ts'
import { linesOf } from '../../config/temp.ts'
import { logInBy } from './scene.ts'
import { stateOf } from './vault/kit.ts'

const CALL = { name: 'web__say', arguments: {} }

interface World {
  readonly api: MockApi
  readonly server: LoginServer
  readonly directory: string
}

/** An API behind a server that wants tokens. */
async function world(t: TestContext): Promise<World> {
  const responses = { 200: { description: 'fine' } }
  const paths = { '/say': { get: { operationId: 'say', responses } } }
  const document = { openapi: '3.0.3', info: { title: 'API', version: '1' }, paths }
  const directory = stateOf(t)
  writeFileSync(join(directory, 'api.json'), JSON.stringify(document))
  const api = closeAfter(t, await mockApi(document))
  return { api, server: closeAfter(t, await loginServer(`${api.url}/say`)), directory }
}

function upstream({ directory }: World, server: string, oauth: object): object {
  return { type: 'openapi', document: join(directory, 'api.json'), server, oauth }
}

test('a call of an API says that a login is needed, and goes through once somebody has logged in', async t => {
  const around = await world(t)
  const { api, server, directory } = around
  const web = upstream(around, server.url, {})
  const gateway = await createGateway({ version: 1, state: { directory }, upstreams: { web } })
  cleanup(t, () => gateway.close())
  await gateway.start()
  await gateway.settled()
  const client = await gateway.connect()

  assert.match(JSON.stringify(await client.request('tools/list')), /web__say/)
  await assert.rejects(client.request('tools/call', CALL), /gateway login web/)
  assert.deepEqual(api.heard, [])

  await logInBy((verb, params) => gateway.control(verb, params))
  assert.match(JSON.stringify(await client.request('tools/call', CALL)), /"ok":true/)
  assert.equal(server.asked[0]?.get('resource'), server.url)
  assert.equal(server.tokens.at(-1), server.given[0])

  // The access token alone is over: it is renewed, and the call is made.
  server.good.clear()
  assert.match(JSON.stringify(await client.request('tools/call', CALL)), /"ok":true/)
  assert.equal(server.asked.at(-1)?.get('grant_type'), 'refresh_token')
})

test('the token of one caller goes along with the calls of no other', async t => {
  const around = await world(t)
  const { api, server, directory } = around
  const [ann, bob] = [createKey('ann', []), createKey('bob', [])]
  const config = {
    auth: { keys: [ann, bob].map(made => ({ name: made.name, hash: made.hash })) },
    state: { directory },
    upstreams: { web: upstream(around, server.url, { account: 'caller' }) },
    cache: { tools: { web__say: { ttl: '1m' } } },
  }
  const gateway = closeAfter(t, await testGateway({ config }))
  await logInBy((verb, params) => gateway.gateway.control(verb, params), { account: 'key:ann' })
  const said = async (key: string): Promise<string> => {
    const headers = { authorization: `Bearer ${key}` }
    const client = closeAfter(t, await testClient(gateway, { headers }))
    return JSON.stringify(await client.request('tools/call', CALL))
  }

  assert.match(await said(ann.key), /"ok":true/)
  assert.doesNotMatch(await said(bob.key), /"ok":true/)
  assert.match(await said(ann.key), /"ok":true/)
  assert.ok(api.heard.length === 1 || api.heard.length === 2, String(api.heard.length))
  assert.deepEqual([...new Set(server.tokens)].sort(), [server.given[0], undefined].sort())
})

test('the credentials of a client get tokens for an API that names no authorization server', async t => {
  const around = await world(t)
  const { api, server, directory } = around
  const check = (token: string | undefined): { status: 401; challenge: string } | undefined =>
    token === 'of-the-client' ? undefined : { status: 401, challenge: 'Bearer' }
  const serve: NonNullable<Parameters<typeof protectedServer>[0]['serve']> = ({ url }, response) => {
    if (url?.startsWith('/.well-known') !== true) return false
    response.writeHead(404).end()
    return true
  }
  const bare = closeAfter(t, await protectedServer({ behind: `${api.url}/say`, check, serve }))
  server.next.push({
    status: 200,
    body: { access_token: 'of-the-client', token_type: 'Bearer', expires_in: 3600 },
  })
  const client = { id: 'gateway', secret: 'of-the-gateway' }
  const oauth = { grant: 'client-credentials', issuer: server.origin, client }
  const web = upstream(around, bare.url, oauth)
  const gateway = await createGateway({ version: 1, state: { directory }, upstreams: { web } })
  cleanup(t, () => gateway.close())
  await gateway.start()
  await gateway.settled()
  const asking = await gateway.connect()

  for (let call = 0; call < 2; call++)
    assert.match(JSON.stringify(await asking.request('tools/call', CALL)), /"ok":true/)
  assert.deepEqual(
    server.asked.map(form => [form.get('grant_type'), form.get('resource')]),
    [['client_credentials', bare.url]],
  )
})

test('a login for an API needs the server of the API, whatever its document says', async t => {
  const lines = await linesOf(t, {
    'gateway.yaml': 'upstreams:\n  a:\n    type: openapi\n    document: ./api.json\n    oauth: {}\n',
    'api.json': '{}',
  })
  assert.match(lines.join('\n'), /upstreams\/a\/oauth.*"server" is missing/)
})
