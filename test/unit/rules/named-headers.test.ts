import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test, type TestContext } from 'node:test'
import { isObject, type JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, testUpstream, type TestUpstream } from '../../../src/testing/index.ts'
import { hashOf } from './keys.ts'

/** Every place of the schema where a header of a caller's request is named; the others are headers that we send. */
const PLACES = ['auth.keyHeader', 'cache.vary', 'forwardHeaders', 'sessionHeaders', 'sessionLabel']
const SENT = ['headers']

type Ask = (method: string, params: JsonObject, headers: Record<string, string>) => Promise<unknown>

async function server(t: TestContext): Promise<TestUpstream> {
  let count = 0
  return closeAfter(
    t,
    await testUpstream({
      era: 'legacy',
      tools: { count: () => String(++count) },
      prompts: { count: () => String(++count) },
      resources: { 'memo://count': 'x' },
      methods: {
        'resources/read': ({ uri }: JsonObject) => ({ contents: [{ uri, text: String(++count) }] }),
      },
    }),
  )
}

/** The same request by each way in that carries headers of its own. */
async function waysIn(t: TestContext, url: string): Promise<Record<string, Ask>> {
  const modern = closeAfter(t, await testClient(url))
  const legacy = closeAfter(t, await testClient(url, { era: 'legacy' }))
  const by =
    (client: typeof modern): Ask =>
    async (method, params, headers) =>
      (await client.request(method, params, { headers })).result
  return {
    'HTTP, 2026-07-28': by(modern),
    'HTTP, legacy': by(legacy),
    REST: async (_method, { name }, headers) => {
      const init = {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ name, arguments: {} }),
      }
      return (await fetch(new URL('/tools/call', url), init)).json()
    },
  }
}

const RULE = { ttl: '1m', vary: ['header:X-Tenant', 'header:Accept-Language', 'header:Origin'] }
const CACHES: Readonly<Record<string, JsonObject>> = {
  'the cache of all': { cache: { tools: { '*': RULE }, prompts: RULE, resources: RULE } },
  'the cache of one server': {
    upstreams: { one: { cache: { tools: { '*': RULE }, prompts: RULE, resources: RULE } } },
  },
}
const REQUESTS: readonly (readonly [string, JsonObject])[] = [
  ['tools/call', { name: 'one__count', arguments: {} }],
  ['prompts/get', { name: 'one__count' }],
  ['resources/read', { uri: 'memo://count' }],
]

for (const [place, config] of Object.entries(CACHES))
  test(`answers never cross between values of a header that ${place} varies by`, async t => {
    const one = await server(t)
    const listeners = {
      main: { type: 'http', port: 0, allowedOrigins: ['http://a.example', 'http://b.example'] },
    }
    const gateway = closeAfter(t, await testGateway({ upstreams: { one }, config: { listeners, rest: {}, ...config } }))
    for (const [way, ask] of Object.entries(await waysIn(t, gateway.url)))
      for (const [method, params] of REQUESTS) {
        if (way === 'REST' && method !== 'tools/call') continue
        const seen: string[] = []
        for (const [name, values] of [
          ['x-tenant', ['a', 'b']],
          ['accept-language', ['de', 'en']],
          ['origin', ['http://a.example', 'http://b.example']],
        ] as const)
          for (const value of values) {
            const first = JSON.stringify(await ask(method, params, { [name]: value }))
            assert.equal(
              JSON.stringify(await ask(method, params, { [name]: value })),
              first,
              `${way} ${method} is kept`,
            )
            seen.push(first)
          }
        assert.equal(new Set(seen).size, seen.length, `${way} ${method} ${seen.join(' ')}`)
      }
  })

test('a reload that names a header makes the listener pass it', async t => {
  const one = await server(t)
  const config = (cache: JsonObject) => ({
    version: 1,
    listeners: { main: { type: 'http', port: 0 } },
    upstreams: { one: { type: 'http', url: one.url } },
    cache,
  })
  const { gateway, url } = closeAfter(t, await testGateway({ config: config({ tools: { '*': '1m' } }) }))
  await gateway.reload(config({ tools: { '*': { ttl: '1m', vary: ['header:x-tenant'] } } }))
  const client = closeAfter(t, await testClient(url))
  const call = async (tenant: string) =>
    JSON.stringify(
      (await client.request('tools/call', { name: 'one__count', arguments: {} }, { headers: { 'x-tenant': tenant } }))
        .result,
    )
  assert.notEqual(await call('a'), await call('b'))
})

test('a forwarded header, a label, the header of a session and that of a key are read from a real request', async t => {
  const one = await server(t)
  const config = {
    listeners: { main: { type: 'http', port: 0, sessionLabel: 'X-Talk' } },
    rest: {},
    cache: false,
    auth: { keyHeader: 'X-Own-Key', keys: [{ name: 'ci', hash: hashOf('secret') }] },
    sessionHeaders: { header: 'X-Their-Session', upstreams: ['one'] },
    upstreams: { one: { forwardHeaders: ['X-Tenant'] } },
  }
  const gateway = closeAfter(t, await testGateway({ upstreams: { one }, config }))
  const key = { 'x-own-key': 'secret' }
  const modern = closeAfter(t, await testClient(gateway, { headers: key }))
  const legacy = closeAfter(t, await testClient(gateway, { era: 'legacy', headers: key }))
  const params = { name: 'one__count', arguments: {} }
  for (const client of [modern, legacy])
    for (const talk of ['a', 'b', 'a'])
      await client.request('tools/call', params, {
        headers: { 'x-talk': talk, 'X-TENANT': `tenant-${talk}` },
      })
  const calls = one
    .listCalls('tools/call')
    .map(({ headers }) => [headers['x-tenant'], headers['x-their-session'], headers['x-own-key'], headers['x-talk']])
  assert.deepEqual(
    calls.map(([tenant]) => tenant),
    ['tenant-a', 'tenant-b', 'tenant-a', 'tenant-a', 'tenant-b', 'tenant-a'],
  )
  assert.deepEqual(
    calls.map(([, , ...kept]) => kept),
    Array(6).fill([undefined, undefined]),
  )
  const sessions = calls.map(([, session]) => session)
  assert.equal(sessions[0], sessions[2])
  assert.equal(sessions[0], sessions[3])
  assert.notEqual(sessions[0], sessions[1])
  const refused = await testClient(gateway)
  assert.equal((await closeAfter(t, refused).request('tools/call', params)).status, 401)
})

test('no place of the schema names a header that is not tested here', () => {
  const schema = JSON.parse(
    readFileSync(new URL('../../../schemas/gateway.json', import.meta.url), 'utf8'),
  ) as JsonObject
  const found = new Set<string>()
  const walk = (value: unknown, path: string): void => {
    if (Array.isArray(value)) return value.forEach(inner => walk(inner, path))
    if (!isObject(value)) return
    if (value.$ref === '#/$defs/headerName' || String(value.pattern).includes('header:')) found.add(path)
    for (const [key, inner] of Object.entries(value)) walk(inner, `${path}.${key}`)
  }
  walk(schema.$defs, '')
  const tails = [...found].map(path => path.match(/\.(\w*[Hh]eaders?\w*|sessionLabel|\w*Vary\w*)\b/i)?.[1] ?? path)
  const known = [...PLACES, ...SENT, 'SessionHeadersConfig', 'keyHeader', 'cacheVary']
  assert.deepEqual(
    [...new Set(tails)].filter(tail => !known.some(one => one.toLowerCase().endsWith(tail.toLowerCase()))),
    [],
  )
})
