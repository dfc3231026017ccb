import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { type Authorizer, type JsonObject, type Plugin } from '../../../src/plugin.ts'
import { definePlugin } from '../../fixtures/define-plugin.ts'
import { closeAfter, testClient, testGateway, testUpstream, type TestUpstream } from '../../../src/testing/index.ts'
import { byToken, from, modern } from '../fixtures/by-token.ts'
import { type Denied, protectedServer, type ProtectedServer } from '../../fixtures/oauth/protected-server.ts'

const NO_TOKEN: Denied = { status: 401, challenge: 'Bearer realm="test"' }

function authorizing(authorizer: Authorizer): Plugin<undefined> {
  return definePlugin<undefined>({
    name: 'authorizing',
    setup({ hooks }) {
      hooks.authorize.tap(() => authorizer)
    },
  })
}

interface World {
  readonly behind: TestUpstream
  readonly server: ProtectedServer
}

async function world(
  t: TestContext,
  check: (token: string | undefined) => Denied | undefined,
  era: 'modern' | 'legacy' = 'modern',
): Promise<World> {
  const tools = { whoami: () => 'here' }
  const behind = closeAfter(t, await testUpstream({ tools, era, cacheScope: 'public', ttlMs: 60_000 }))
  const server = closeAfter(t, await protectedServer({ behind: behind.url, check }))
  return { behind, server }
}

async function call(url: string, who: string): Promise<JsonObject> {
  const response = await fetch(url, from(who, modern('tools/call', { name: 'web__whoami' })))
  return (await response.json()) as JsonObject
}

for (const era of ['modern', 'legacy'] as const)
  test(`an authorizer puts credentials on every request of a ${era} server, its goodbye included`, async t => {
    const { server } = await world(t, token => (token === 'good' ? undefined : NO_TOKEN), era)
    const asked = new Set<string>()
    const authorizer: Authorizer = {
      headers: ({ upstream, method }) => {
        asked.add(`${upstream} ${method}`)
        return { authorization: 'Bearer good' }
      },
      refused: () => Promise.resolve(undefined),
    }
    const plugins = [authorizing(authorizer)]
    const { gateway, url } = await testGateway({ upstreams: { web: server }, plugins })
    const client = closeAfter(t, await testClient({ url }))

    const { result } = await client.request('tools/call', { name: 'web__whoami' })
    await client[Symbol.asyncDispose]()
    await gateway.close()

    assert.ok(result)
    assert.deepEqual(new Set(server.tokens), new Set(['good']))
    const all = era === 'modern' ? ['web POST'] : ['web POST', 'web GET', 'web DELETE']
    assert.deepEqual(asked, new Set(all))
  })

test('a refusal is shown to the authorizer with its challenge, and the request is sent again with other credentials', async t => {
  const challenge = 'Bearer error="invalid_token", resource_metadata="https://example.com/x"'
  const { server } = await world(t, token => (token === 'new' ? undefined : { status: 401, challenge }))
  const seen: unknown[] = []
  let token = 'old'
  const authorizer: Authorizer = {
    headers: () => Promise.resolve({ authorization: `Bearer ${token}` }),
    refused: (_request, refusal) => {
      seen.push(refusal)
      token = 'new'
      return Promise.resolve({ authorization: 'Bearer new' })
    },
  }
  const plugins = [authorizing(authorizer)]
  const { url } = closeAfter(t, await testGateway({ upstreams: { web: server }, plugins }))
  const client = closeAfter(t, await testClient({ url }))

  assert.ok((await client.request('tools/call', { name: 'web__whoami' })).result)

  const sent = { authorization: 'Bearer old' }
  assert.deepEqual(seen, [{ status: 401, challenge, sent, attempt: 1 }])
})

test('a request is sent four times at most, and then the refusal stands', async t => {
  const { server } = await world(t, () => NO_TOKEN)
  let attempts = 0
  const authorizer: Authorizer = {
    headers: () => ({ authorization: 'Bearer no' }),
    refused: () => Promise.resolve({ authorization: `Bearer no${++attempts}` }),
  }
  const plugins = [authorizing(authorizer)]
  const { gateway } = closeAfter(t, await testGateway({ upstreams: { web: server }, plugins }))

  assert.match(gateway.upstreams.get('web')?.status().problem ?? '', /refused the credentials|HTTP 401/)
  assert.deepEqual(server.tokens.slice(0, 4), ['no', 'no1', 'no2', 'no3'])
  assert.equal(server.tokens.filter(token => token === 'no').length * 3, attempts)
})

test('the caller is told what an authorizer throws, before the request or after its refusal', async t => {
  const { server } = await world(t, token => (token === 'good' ? undefined : NO_TOKEN))
  let when: 'fine' | 'before' | 'later' | 'after' = 'fine'
  const authorizer: Authorizer = {
    headers: () => {
      if (when === 'before') throw new Error('SECRET of the plugin')
      if (when === 'later') return Promise.reject(new Error('SECRET of the plugin'))
      return { authorization: when === 'after' ? 'Bearer bad' : 'Bearer good' }
    },
    refused: () => Promise.reject(new Error('SECRET of the plugin')),
  }
  const plugins = [authorizing(authorizer)]
  const { url } = closeAfter(t, await testGateway({ upstreams: { web: server }, plugins, config: { cache: false } }))
  const client = closeAfter(t, await testClient({ url }))

  for (const one of ['before', 'later', 'after', 'fine'] as const) {
    when = one
    const { error, result } = await client.request('tools/call', { name: 'web__whoami' })
    assert.equal(result !== undefined, one === 'fine', one)
    assert.doesNotMatch(JSON.stringify(error ?? {}), /SECRET/, one)
  }
})

for (const era of ['modern', 'legacy'] as const)
  test(`callers of different accounts share no connection of a ${era} server, and a public answer neither`, async t => {
    const denied = (token: string | undefined): Denied | undefined =>
      token?.startsWith('of-') === true && token !== 'of-eve' ? undefined : NO_TOKEN
    const { server, behind } = await world(t, denied, era)
    const authorizer: Authorizer = {
      getAccount: ({ subject }) => subject,
      headers: ({ account }) => ({ authorization: `Bearer of-${account}` }),
      refused: () => Promise.resolve(undefined),
    }
    const plugins = [byToken, authorizing(authorizer)]
    const config = { upstreams: { web: { isolation: 'principal' } } }
    const { url } = closeAfter(t, await testGateway({ upstreams: { web: server }, plugins, config }))

    const answers = await Promise.all(['alice', 'bob', 'alice'].map(who => call(url, who)))
    const eve = await call(url, 'eve')

    assert.ok(
      answers.every(({ result }) => result !== undefined),
      JSON.stringify(answers),
    )
    assert.match(JSON.stringify(eve), /error/)
    assert.deepEqual(new Set(server.tokens), new Set(['of-alice', 'of-bob', 'of-eve']))
    const sessions = behind.listCalls('tools/call').map(({ headers }) => headers['mcp-session-id'])
    if (era === 'legacy') assert.equal(new Set(sessions).size, 2)
  })
