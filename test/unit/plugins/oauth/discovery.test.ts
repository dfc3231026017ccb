import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { LoginServer } from '../../../fixtures/oauth/login-server.ts'
import { scene, type Scene } from './scene.ts'

const RESOURCE = '/.well-known/oauth-protected-resource'
const SERVER = '/.well-known/oauth-authorization-server'

async function start(t: TestContext, oauth?: (origin: string) => object): Promise<Scene> {
  const made = await scene(t, oauth)
  await made.gateway.start()
  await made.gateway.settled()
  return made
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
  'a relative metadata pointer': ({ gate }) => {
    gate.challenge = `Bearer resource_metadata="${RESOURCE}/mcp"`
  },
  'a metadata pointer that answers 404': ({ gate, origin }) => {
    gate.challenge = `Bearer resource_metadata="${origin}/nothing/here"`
  },
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

      await setup.logIn()

      assert.match(await setup.call(), /paid/)
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

    await setup.logIn()

    assert.match(await setup.call(), /paid/)
    assert.equal(server.tokens.at(-1), 'second')
  })

  test('an issuer of the configuration that the server does not name', async t => {
    const setup = await start(t, origin => ({ issuer: `${origin}/` }))
    const { answers, origin } = setup.server
    const elsewhere = ['http://127.0.0.1:9/elsewhere']
    answers.set(`${RESOURCE}/mcp`, resource(origin, { authorization_servers: elsewhere }))

    await setup.logIn()

    assert.match(await setup.call(), /paid/)
  })
})

describe('a login is refused', () => {
  const WRONG: Readonly<Record<string, (origin: string) => string>> = {
    'another host': () => 'http://id.example.com',
    'another path': origin => `${origin}/other`,
  }
  for (const [name, issuerFor] of Object.entries(WRONG))
    test(`where the issuer of the metadata has ${name}`, async t => {
      const setup = await start(t)
      const { answers, origin } = setup.server
      answers.set(SERVER, metadata(origin, { issuer: issuerFor(origin) }))

      await assert.rejects(setup.logIn(), { code: 'GW_OAUTH_METADATA' })
    })

  for (const resourcePath of ['/mc', '/mcp/below'])
    test(`where the metadata is for ${resourcePath}`, async t => {
      const setup = await start(t)
      const { answers, origin } = setup.server
      answers.set(`${RESOURCE}/mcp`, resource(origin, { resource: origin + resourcePath }))

      await assert.rejects(setup.logIn(), { code: 'GW_OAUTH_METADATA' })
    })

  for (const methods of [['plain'], null])
    test(`where the server declares ${JSON.stringify(methods)} for PKCE`, async t => {
      const setup = await start(t)
      const { answers, origin } = setup.server
      answers.set(SERVER, metadata(origin, { code_challenge_methods_supported: methods }))

      await assert.rejects(setup.logIn(), { code: 'GW_OAUTH_METADATA' })
    })

  test('where all places of the metadata fail', async t => {
    const setup = await start(t)
    const { answers } = setup.server
    answers.set(`${RESOURCE}/mcp`, BROKEN).set(RESOURCE, NONE)

    await assert.rejects(setup.logIn(), { code: 'GW_OAUTH_METADATA' })
  })
})
