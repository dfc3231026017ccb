import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { createGateway, type Gateway } from '../../../../src/gateway/gateway.ts'
import { closeAfter, testUpstream } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { loginServer, type LoginServer } from '../../../fixtures/oauth/login-server.ts'
import { stateOf } from './vault/kit.ts'

const RESOURCE = '/.well-known/oauth-protected-resource'
const SERVER = '/.well-known/oauth-authorization-server'

interface Setup {
  readonly gateway: Gateway
  readonly server: LoginServer
}

async function start(t: TestContext, oauth: (origin: string) => object = () => ({})): Promise<Setup> {
  const behind = closeAfter(t, await testUpstream({ tools: { pay: () => 'paid' } }))
  const server = closeAfter(t, await loginServer(behind.url))
  const upstreams = { web: { type: 'http', url: server.url, oauth: oauth(server.origin) } }
  const gateway = await createGateway({ version: 1, state: { directory: stateOf(t) }, upstreams })
  cleanup(t, () => gateway.close())
  await gateway.start()
  await gateway.settled()
  return { gateway, server }
}

async function logIn({ gateway }: Setup): Promise<void> {
  const redirectUri = 'http://127.0.0.1:9/oauth/callback'
  const begun = await gateway.control('login.begin', { upstream: 'web', redirectUri })
  const back = await fetch(String(begun.url), { redirect: 'manual' })
  await gateway.control('login.finish', { url: back.headers.get('location') })
}

async function call({ gateway }: Setup): Promise<string> {
  const client = await gateway.connect()
  return JSON.stringify(await client.request('tools/call', { name: 'web__pay' }))
}

function resource(origin: string, more: object = {}): { status: number; body: object } {
  const body = { resource: `${origin}/mcp`, authorization_servers: [origin], ...more }
  return { status: 200, body }
}

function metadata(origin: string, more: object = {}): { status: number; body: object } {
  const body = {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
    ...more,
  }
  return { status: 200, body }
}

const NONE = { status: 404, body: {} }
const BROKEN = { status: 500, body: 'no' }

/** Servers that a login must work with, whatever is odd about their metadata. */
const SERVERS: Readonly<Record<string, (server: LoginServer) => void>> = {
  'an issuer with a slash at the end': ({ answers, origin }) =>
    answers.set(`${RESOURCE}/mcp`, resource(origin, { authorization_servers: [`${origin}/`] })),
  'an issuer in upper case': ({ answers, origin }) =>
    answers.set(
      `${RESOURCE}/mcp`,
      resource(origin, { authorization_servers: [origin.replace('http', 'HTTP')] }),
    ),
  'a relative metadata pointer': ({ gate }) => {
    gate.challenge = `Bearer resource_metadata="${RESOURCE}/mcp"`
  },
  'a metadata pointer that answers 404': ({ gate, origin }) => {
    gate.challenge = `Bearer resource_metadata="${origin}/nothing/here"`
  },
  'a metadata pointer that answers 500': ({ gate, answers, origin }) => {
    answers.set('/broken', BROKEN)
    gate.challenge = `Bearer resource_metadata="${origin}/broken"`
  },
  'metadata without authorization servers': ({ answers, origin }) =>
    answers.set(`${RESOURCE}/mcp`, resource(origin, { authorization_servers: undefined })),
  'an empty list of authorization servers': ({ answers, origin }) =>
    answers.set(`${RESOURCE}/mcp`, resource(origin, { authorization_servers: [] })),
  'null for the authorization servers and the scopes': ({ answers, origin }) =>
    answers.set(`${RESOURCE}/mcp`, resource(origin, { authorization_servers: null, scopes_supported: null })),
  'a 500 on the path form of the resource': ({ gate, answers, origin }) => {
    gate.challenge = 'Bearer'
    answers.set(`${RESOURCE}/mcp`, BROKEN).set(RESOURCE, resource(origin))
  },
  'a 500 on the path form of the authorization server': ({ answers, origin }) => {
    answers.set(`${RESOURCE}/mcp`, resource(origin, { authorization_servers: [`${origin}/tenant`] }))
    answers.set(`${SERVER}/tenant`, BROKEN)
  },
  'metadata of the authorization server at the root only': ({ answers, origin }) => {
    answers.set(`${RESOURCE}/mcp`, resource(origin, { authorization_servers: [`${origin}/mcp`] }))
  },
  'metadata of the resource at the root only': ({ gate, answers, origin }) => {
    gate.challenge = 'Bearer'
    answers.set(`${RESOURCE}/mcp`, NONE).set(RESOURCE, resource(origin))
  },
  'nulls in its metadata': ({ answers, origin }) =>
    answers.set(
      SERVER,
      metadata(origin, {
        scopes_supported: null,
        revocation_endpoint: null,
        authorization_response_iss_parameter_supported: null,
        client_id_metadata_document_supported: null,
      }),
    ),
  'nulls in its registration': ({ answers }) =>
    answers.set('/register', {
      status: 201,
      body: {
        client_id: 'registered',
        client_secret: null,
        client_secret_expires_at: null,
        client_id_issued_at: null,
        token_endpoint_auth_method: null,
      },
    }),
}

describe('a login works with', () => {
  for (const [name, change] of Object.entries(SERVERS))
    test(name, async t => {
      const setup = await start(t)
      change(setup.server)

      await logIn(setup)

      assert.match(await call(setup), /paid/)
    })

  test('nulls in the answers for a token and for its renewal', async t => {
    const setup = await start(t)
    const { server } = setup
    const nulls = { id_token: null, scope: null, error: null }
    const expired = { access_token: 'first', token_type: 'Bearer', refresh_token: 'again', expires_in: 1 }
    server.next.push({ status: 200, body: { ...expired, ...nulls } })
    const renewed = { access_token: 'second', token_type: 'Bearer', refresh_token: null, expires_in: null }
    server.next.push({ status: 200, body: { ...renewed, ...nulls } })
    server.good.add('second')

    await logIn(setup)

    assert.match(await call(setup), /paid/)
    assert.equal(server.tokens.at(-1), 'second')
  })

  test('an issuer of the configuration that the server does not name', async t => {
    const setup = await start(t, origin => ({ issuer: `${origin}/` }))
    const { answers, origin } = setup.server
    const elsewhere = ['http://127.0.0.1:9/elsewhere']
    answers.set(`${RESOURCE}/mcp`, resource(origin, { authorization_servers: elsewhere }))

    await logIn(setup)

    assert.match(await call(setup), /paid/)
  })
})

describe('a login is refused', () => {
  const WRONG: Readonly<Record<string, (origin: string) => string>> = {
    'another host': () => 'http://id.example.com',
    'another path': origin => `${origin}/other`,
    'another port': origin => origin.replace(/\d+$/, '9'),
  }
  for (const [name, issuerFor] of Object.entries(WRONG))
    test(`where the issuer of the metadata has ${name}`, async t => {
      const setup = await start(t)
      const { answers, origin } = setup.server
      answers.set(SERVER, metadata(origin, { issuer: issuerFor(origin) }))

      await assert.rejects(logIn(setup), { code: 'GW_OAUTH_METADATA' })
    })

  test('where all places of the metadata fail', async t => {
    const setup = await start(t)
    const { answers } = setup.server
    answers.set(`${RESOURCE}/mcp`, BROKEN).set(RESOURCE, NONE)

    await assert.rejects(logIn(setup), { code: 'GW_OAUTH_METADATA' })
  })
})
