import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { WebSocket } from 'ws'
import type { JsonObject, Plugin } from '../../../../src/plugin.ts'
import { closeAfter, testClient, testGateway, testUpstream, type TestGateway } from '../../../../src/testing/index.ts'
import { hashOf } from '../../rules/keys.ts'

/** A tool, prompt and resource that a scope rule names, each beside one that is not there at all. */
const NAMES = { there: 'secret', absent: 'secreu' }
const RULES = [
  { tools: '*secr*', scopes: ['s:tools'] },
  { prompts: '*secr*', scopes: ['s:prompts'] },
  { resources: 'file:///secr*', scopes: ['s:resources'] },
]
const AUTH = {
  keys: [
    { name: 'poor', hash: hashOf('poor') },
    { name: 'rich', hash: hashOf('rich'), scopes: ['s:tools', 's:prompts', 's:resources'] },
  ],
  rules: RULES,
}
const DENIED = {
  tools: { deny: ['*secr*'] },
  prompts: { deny: ['*secr*'] },
  resources: { deny: ['file:///secr*'] },
}

/** All that hides something from a caller whatever its scopes are. */
const HIDING: Readonly<Record<string, JsonObject>> = {
  'a profile': { profiles: { default: DENIED } },
  'a profile without its server': { profiles: { default: { upstreams: ['other'] } } },
  'a filter': { filters: DENIED },
  "a server's own filter": { own: DENIED },
  'a rule about callers': { more: [{ upstreams: 'db', principals: ['nobody'] }] },
  'a policy': {
    policy: {
      deny: ['tool.name.contains("secr")', 'prompt.name.contains("secr")', 'resource.uri.contains("secr")'],
    },
  },
}

const SERVER = {
  tools: { secret: () => 'rows', open: () => 'x' },
  prompts: { secret: () => 'x', open: () => 'x' },
  resources: { 'file:///secret': 's', 'file:///open': 'o' },
  capabilities: { completions: {} },
  methods: { 'completion/complete': () => ({ completion: { values: ['v'] } }) },
}

async function serve(t: TestContext, { own = {}, more = [], ...config }: JsonObject): Promise<TestGateway> {
  const db = closeAfter(t, await testUpstream(SERVER))
  const other = closeAfter(t, await testUpstream({ tools: { run: () => 'y' } }))
  const listeners = { main: { type: 'http', port: 0, ws: { path: '/ws' } } }
  const auth = { ...AUTH, rules: [...RULES, ...(more as JsonObject[])] }
  return closeAfter(
    t,
    await testGateway({
      upstreams: { db, other },
      config: { listeners, auth, rest: {}, upstreams: { db: own as JsonObject }, ...config },
    }),
  )
}

type Ask = (method: string, params: JsonObject) => Promise<unknown>

/** Ways to the gateway, each with what it says of a refusal: status, challenge, and the whole text. */
async function roads(t: TestContext, gateway: TestGateway, key: string): Promise<Record<string, Ask>> {
  const headers = { authorization: `Bearer ${key}` }
  const clients = await Promise.all(
    (['modern', 'legacy'] as const).map(async era => {
      const client = closeAfter(t, await testClient(gateway, { era, headers }))
      const ask: Ask = async (method, params) => {
        const { status, error, result, headers: said } = await client.request(method, params)
        return [status, said['www-authenticate'], error ?? result]
      }
      return [era, ask] as const
    }),
  )
  return { ...Object.fromEntries(clients), ws: await overWebSocket(t, gateway, headers) }
}

async function overWebSocket(t: TestContext, { url }: TestGateway, headers: Record<string, string>): Promise<Ask> {
  const socket = new WebSocket(url.replace(/^http(.*)\/mcp$/, 'ws$1/ws'), ['mcp'], { headers })
  closeAfter(t, { [Symbol.asyncDispose]: () => Promise.resolve(socket.terminate()) })
  await new Promise((resolve, reject) => socket.once('open', resolve).once('error', reject))
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  return async (method, params) => {
    const said = new Promise<JsonObject>(resolve =>
      socket.once('message', data => resolve(JSON.parse((data as Buffer).toString()) as JsonObject)),
    )
    socket.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }))
    const { error, result } = await said
    return error ?? result
  }
}

/** Everything that can be asked for by a name. */
function wishes(name: string): [string, JsonObject][] {
  const argument = { name: 'a', value: '' }
  return [
    ['tools/call', { name: `db__${name}`, arguments: {} }],
    ['prompts/get', { name: `db__${name}` }],
    ['resources/read', { uri: `file:///${name}` }],
    ['completion/complete', { ref: { type: 'ref/prompt', name: `db__${name}` }, argument }],
    ['completion/complete', { ref: { type: 'ref/resource', uri: `file:///${name}` }, argument }],
  ]
}

function rest({ url }: TestGateway, key: string, name: string): Promise<Response> {
  return fetch(new URL('/tools/call', url), {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: `db__${name}`, arguments: {} }),
  })
}

for (const [what, config] of Object.entries(HIDING))
  for (const isListed of [false, true])
    test(`what ${what} hides is unknown, though a scope is named for it (${isListed ? 'after' : 'before'} a list)`, async t => {
      const gateway = await serve(t, config)
      // Somebody else may have seen all of it.
      if (isListed)
        for (const key of ['rich', 'poor'])
          for (const ask of Object.values(await roads(t, gateway, key)))
            for (const method of ['tools/list', 'prompts/list', 'resources/list']) await ask(method, {})
      for (const [road, ask] of Object.entries(await roads(t, gateway, 'poor'))) {
        const [there, absent] = [wishes(NAMES.there), wishes(NAMES.absent)]
        for (const [i, [method, params]] of there.entries()) {
          const hidden = JSON.stringify(await ask(method, params))
          const missing = JSON.stringify(await ask(...(absent[i] ?? ['', {}])))
          assert.equal(hidden, missing.replaceAll(NAMES.absent, NAMES.there), `${road} ${method}`)
          assert.doesNotMatch(hidden, /403|scope/, `${road} ${method}`)
        }
      }
      const [hidden, missing] = [await rest(gateway, 'poor', NAMES.there), await rest(gateway, 'poor', NAMES.absent)]
      assert.equal(hidden.status, missing.status)
      assert.equal(await hidden.text(), (await missing.text()).replaceAll(NAMES.absent, NAMES.there))
    })

test('what nothing else hides is refused with its scopes, over every road', async t => {
  const gateway = await serve(t, {})
  for (const [road, ask] of Object.entries(await roads(t, gateway, 'poor')))
    for (const [method, params] of wishes(NAMES.there)) {
      const said = JSON.stringify(await ask(method, params))
      assert.match(said, /"code":"GW_FORBIDDEN","scopes":\["s:(tools|prompts|resources)"\]/, `${road} ${method}`)
      if (road !== 'ws') assert.match(said, /^\[403,"Bearer error=\\"insufficient_scope\\", scope=\\"s:/)
    }
  const { status, headers } = await rest(gateway, 'poor', NAMES.there)
  const challenge = 'Bearer error="insufficient_scope", scope="s:tools"'
  assert.deepEqual([status, headers.get('www-authenticate')], [403, challenge])
  for (const ask of Object.values(await roads(t, gateway, 'rich')))
    for (const [method, params] of wishes(NAMES.there))
      assert.doesNotMatch(JSON.stringify(await ask(method, params)), /scope|403/, method)
})

test('a profile that renames names the thing as its clients know it', async t => {
  const gateway = await serve(t, { profiles: { default: { prefixes: { db: 'data_' } } } })
  const { modern } = await roads(t, gateway, 'poor')
  const [status, challenge, error] = (await modern?.('tools/call', { name: 'data_secret' })) as [
    number,
    string,
    JsonObject,
  ]
  assert.deepEqual([status, error.message], [403, '"data_secret" requires the scope s:tools'])
  assert.match(challenge, /scope="s:tools"/)
})

test('a route leads past no scope', async t => {
  const gateway = await serve(t, { routes: [{ match: { tool: 'db__secret' }, to: 'other' }] })
  const { modern } = await roads(t, gateway, 'poor')
  await modern?.('tools/list', {})
  const [status] = (await modern?.('tools/call', { name: 'db__secret' })) as [number]
  assert.equal(status, 403)
})

test('a refusal is written down as the work of auth', async t => {
  const seen: (string | undefined)[] = []
  const watch: Plugin = {
    name: 'watch',
    setup: ({ hooks }) =>
      hooks.settled.tap(({ method, decidedBy }) => void (method === 'tools/call' && seen.push(decidedBy))),
  }
  const db = closeAfter(t, await testUpstream(SERVER))
  const config = { auth: AUTH }
  const gateway = closeAfter(t, await testGateway({ upstreams: { db }, config, plugins: [watch as never] }))
  const headers = { authorization: 'Bearer poor' }
  const client = closeAfter(t, await testClient(gateway, { headers }))
  await client.request('tools/call', { name: 'db__secret' })
  assert.deepEqual(seen, ['auth'])
})
