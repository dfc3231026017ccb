import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testGateway, testUpstream } from '../../../src/testing/index.ts'

/** The key of examples/access. */
const KEY = 'gwk_only-for-this-example'
const KEYS = {
  keys: [{ name: 'ci', hash: 'sha256:e416b1c4a772540693d475cdd5040a5eec5c4cc74f9afa5e332b814f86dc4318' }],
}
/** The same key for a caller who may not use the profile `ops`. */
const OTHER_KEYS = { keys: KEYS.keys.map(key => ({ ...key, name: 'guest' })) }
/** What cards say about the key that the gateway requires. */
const HEADERS = [{ name: 'X-API-Key', description: 'API key of the gateway.', isRequired: true, isSecret: true }]
const PROFILES = { readers: {}, ops: { principals: ['ci'] } }

async function serve(t: TestContext, config: JsonObject) {
  const web = closeAfter(t, await testUpstream({ tools: { echo: () => 'ok' } }))
  const { url } = closeAfter(t, await testGateway({ upstreams: { web }, config }))
  const get = (path: string, headers: Record<string, string> = {}) => fetch(new URL(path, url), { headers })
  return { url, get }
}

test('each profile has a server card, found through the catalog without credentials', async t => {
  const { url, get } = await serve(t, {
    ...{ discovery: { namespace: 'com.example', description: 'Tools of Example.' }, profiles: PROFILES, auth: KEYS },
    server: { name: 'tools', title: 'Example' },
  })
  const catalog = await get('/.well-known/ai-catalog.json')
  const { entries } = (await catalog.json()) as { entries: { identifier: string; url: string; type: string }[] }
  const cards = await Promise.all(entries.map(entry => fetch(entry.url)))
  const [card, readers] = (await Promise.all(cards.map(one => one.json()))) as JsonObject[]
  const as = { authorization: `Bearer ${KEY}` }
  const hidden = await get('/mcp/ops/server-card')
  const own = await get('/mcp/ops/server-card', as)

  assert.equal(catalog.headers.get('content-type'), 'application/ai-catalog+json')
  assert.deepEqual(
    entries.map(({ identifier }) => identifier),
    ['urn:air:example.com:mcp:tools', 'urn:air:example.com:mcp:tools-readers'],
  )
  assert.equal(cards[0]?.headers.get('content-type'), 'application/mcp-server-card+json')
  assert.equal(cards[0]?.headers.get('access-control-allow-origin'), '*')
  assert.deepEqual(
    { name: card?.name, title: card?.title, description: card?.description, remotes: card?.remotes },
    {
      name: 'com.example/tools',
      title: 'Example',
      description: 'Tools of Example.',
      remotes: [{ type: 'streamable-http', url, headers: HEADERS }],
    },
  )
  assert.deepEqual(readers?.remotes, [{ type: 'streamable-http', url: `${url}/readers`, headers: HEADERS }])
  assert.deepEqual([hidden.status, own.status], [401, 200], 'the card of a profile for certain callers is for them')
})

test('an unchanged card is not sent again', async t => {
  const { get } = await serve(t, { discovery: {} })
  const first = await get('/mcp/server-card')
  const again = await get('/mcp/server-card', { 'if-none-match': first.headers.get('etag') ?? '' })

  assert.match(((await first.json()) as { name: string }).name, /^127\.0\.0\.1\/[\w.-]+$/)
  assert.equal(again.status, 304)
})

test('the registry lists the profiles that the caller may use, and no others', async t => {
  const { get } = await serve(t, { discovery: { registry: true }, profiles: PROFILES, auth: KEYS })
  const as = { authorization: `Bearer ${KEY}` }
  const list = async (path: string, headers: Record<string, string>) => {
    const { servers } = (await (await get(path, headers)).json()) as { servers: { server: { name: string } }[] }
    return servers.map(({ server }) => server.name.split('/')[1])
  }
  const anonymous = await get('/v0.1/servers')
  const all = await list('/v0.1/servers?version=latest', as)
  const found = await list('/v0.1/servers?search=OPS', as)
  const name = encodeURIComponent('127.0.0.1/tapgate-ops')
  const versions = await list(`/v0.1/servers/${name}/versions`, as)
  const latest = await get(`/v0.1/servers/${name}/versions/latest`, as)
  const unknown = await get('/v0.1/servers/127.0.0.1%2Fother/versions/latest', as)

  assert.equal(anonymous.status, 401)
  assert.deepEqual(all, ['tapgate', 'tapgate-readers', 'tapgate-ops'])
  assert.deepEqual(found, ['tapgate-ops'])
  assert.deepEqual(versions, ['tapgate-ops'])
  assert.match(JSON.stringify(await latest.json()), /"url":"http:[^"]+\/mcp\/ops"/)
  assert.equal(unknown.status, 404)
})

test('a public registry needs no credentials, lists what the cards describe, and names the key to ask for', async t => {
  const { url, get } = await serve(t, { discovery: { registry: 'public' }, profiles: PROFILES, auth: KEYS })
  const as = { authorization: `Bearer ${KEY}` }
  const list = async (headers: Record<string, string>) =>
    (await (await get('/v0.1/servers', headers)).json()) as {
      servers: { server: { name: string; remotes: object[] } }[]
    }
  const { servers } = await list({})
  const name = (profile: string) => encodeURIComponent(`127.0.0.1/tapgate-${profile}`)
  const readers = await get(`/v0.1/servers/${name('readers')}/versions/latest`)
  const ops = await get(`/v0.1/servers/${name('ops')}/versions/latest`)
  const mcp = await fetch(url, { method: 'POST', body: '{}' })

  assert.deepEqual(
    servers.map(({ server }) => server.name),
    ['127.0.0.1/tapgate', '127.0.0.1/tapgate-readers'],
  )
  assert.deepEqual(servers[0]?.server.remotes, [{ type: 'streamable-http', url, headers: HEADERS }])
  assert.deepEqual((await list(as)).servers, servers, 'a key changes nothing')
  assert.deepEqual([readers.status, ops.status, mcp.status], [200, 404, 401])
})

test('a hidden profile is answered like an unknown one, so that nobody can guess its name', async t => {
  const { url, get } = await serve(t, { discovery: { registry: 'public' }, profiles: PROFILES, auth: OTHER_KEYS })
  const answer = async (path: string, method = 'GET', headers: Record<string, string> = {}) => {
    const reply = await fetch(new URL(path, url), { method, headers })
    return [reply.status, [...reply.headers].filter(([name]) => name !== 'date'), await reply.text()]
  }
  const as = { authorization: `Bearer ${KEY}` }
  const version = (profile: string) => `/v0.1/servers/${encodeURIComponent(`127.0.0.1/tapgate-${profile}`)}/versions`

  for (const method of ['GET', 'POST'])
    for (const headers of [{}, as])
      for (const path of [
        version,
        (name: string) => `${version(name)}/latest`,
        (name: string) => `/mcp/${name}/server-card`,
      ])
        assert.deepEqual(await answer(path('ops'), method, headers), await answer(path('none'), method, headers))
  assert.equal((await get(version('readers'))).status, 200)
})

test('the registry has pages, and one version of each server', async t => {
  const { get } = await serve(t, { discovery: { registry: true }, profiles: { a: {}, b: {} } })
  const list = async (query: string) => {
    const { servers, metadata } = (await (await get(`/v0.1/servers?${query}`)).json()) as {
      servers: { server: { name: string; version: string } }[]
      metadata: { count: number; nextCursor?: string }
    }
    return {
      names: servers.map(({ server }) => server.name.split('/')[1]),
      ...metadata,
      version: servers[0]?.server.version,
    }
  }
  const first = await list('limit=2&version=latest')
  const second = await list(`limit=2&version=latest&cursor=${String(first.nextCursor)}`)
  const odd = await list('limit=none&cursor=none&updated_since=2026-01-01T00:00:00Z&include_deleted=true')

  assert.deepEqual([first.names, first.count], [['tapgate', 'tapgate-a'], 2])
  assert.deepEqual([second.names, second.count, second.nextCursor], [['tapgate-b'], 1, undefined])
  assert.equal(odd.count, 3)
  assert.equal((await list(`version=${String(first.version)}`)).count, 3)
  assert.equal((await list('version=0.0.0-none')).count, 0)
})

test('pages of an allowed origin may read the registry, such as those of VS Code', async t => {
  const origin = 'vscode-file://vscode-app'
  const listeners = { main: { type: 'http', port: 0, allowedOrigins: [origin] } }
  const { get } = await serve(t, { listeners, discovery: { registry: 'public' }, auth: KEYS })
  const read = await get('/v0.1/servers?limit=50&version=latest', { origin })
  const other = await get('/v0.1/servers', { origin: 'https://example.com' })

  assert.deepEqual([read.status, read.headers.get('access-control-allow-origin')], [200, origin])
  assert.equal(other.status, 403)
})

test('without the section, and on other listeners, there are no documents', async t => {
  const { get } = await serve(t, {})

  for (const path of ['/mcp/server-card', '/.well-known/ai-catalog.json', '/v0.1/servers'])
    assert.equal((await get(path)).status, 404, path)
})

test('a profile with the name of a card stays protected', async t => {
  const config = { discovery: {}, auth: KEYS, profiles: { 'server-card': {} } }
  const { url } = await serve(t, config)
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const post = await fetch(`${url}/server-card`, { method: 'POST', headers, body })
  const stream = await fetch(`${url}/server-card`, { headers: { accept: 'text/event-stream' } })

  assert.deepEqual([post.status, stream.status], [401, 401])
})
