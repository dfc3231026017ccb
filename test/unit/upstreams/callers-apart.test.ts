import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { type JsonObject, type Plugin, type Principal } from '../../../src/plugin.ts'
import { definePlugin } from '../../fixtures/define-plugin.ts'
import { closeAfter, testGateway, testUpstream, type TestUpstream } from '../../../src/testing/index.ts'

/** Everybody is whom the token names, with the scopes after the colon. */
const byToken = definePlugin<undefined>({
  name: 'by-token',
  setup({ hooks }) {
    hooks.authenticate.tap(({ header }) => {
      const [subject = '', scopes] = (header('authorization')[0] ?? '').replace('Bearer ', '').split(':')
      const principal: Principal = { issuer: 'test', client: '', subject, scopes: scopes?.split('+') ?? [] }
      return principal
    })
  },
})

interface Served {
  readonly url: string
  readonly web: TestUpstream
  post(who: string, body: JsonObject, more?: Record<string, string>): Promise<Response>
}

async function serve(
  t: TestContext,
  config: JsonObject = {},
  web?: TestUpstream,
  more: readonly Plugin<never>[] = [],
): Promise<Served> {
  const upstream = web ?? closeAfter(t, await testUpstream({ tools: { read: () => 'read', drop: () => 'DROPPED' } }))
  const { gateway } = closeAfter(
    t,
    await testGateway({
      upstreams: { web: upstream },
      config: { listeners: { main: { type: 'http', port: 0 } }, ...config },
      plugins: [byToken, ...more],
    }),
  )
  const url = gateway.listeners[0]?.url ?? ''
  return {
    url,
    web: upstream,
    post: (who, body, more = {}) =>
      fetch(url, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${who}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          ...more,
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
      }),
  }
}

const HELLO = {
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  },
}

async function greet({ post }: Served, who: string): Promise<Record<string, string>> {
  const reply = await post(who, HELLO)
  await reply.text()
  return { 'mcp-session-id': reply.headers.get('mcp-session-id') ?? '' }
}

test('a filter hides a tool of a server that is down, too, and a name is its own without the prefix', async t => {
  const web = await testUpstream({ tools: { web_push: () => 'pushed', other: () => 'other' } })
  const served = await serve(
    t,
    { upstreams: { web: { prefix: 'web_' } }, filters: { tools: { deny: ['web_web_push'] } } },
    web,
  )
  await web.stop()
  const session = await greet(served, 'alice')
  const call = async (name: string): Promise<string> =>
    (await served.post('alice', { method: 'tools/call', params: { name } }, session)).text()

  assert.match(await call('web_web_push'), /Unknown tool/)
  assert.match(await call('web_other'), /"web\\?" is not available|closed|cannot/)
})

test('scopes are those of the request, not of the last one on its session', async t => {
  const guard = definePlugin<undefined>({
    name: 'guard',
    setup({ hooks }) {
      hooks.catalog.tap((entries, { principal }) =>
        entries.filter(({ original }) => original !== 'drop' || principal.scopes.includes('admin')),
      )
    },
  })
  const served = await serve(t, { cache: false }, undefined, [guard])
  const { web, post } = served
  let release = (): void => undefined
  const held = new Promise<void>(resolve => (release = resolve))
  const session = await greet(served, 'alice')
  web.offer.methods.set('tools/list', async () => {
    await held
    return { tools: ['read', 'drop'].map(name => ({ name, inputSchema: { type: 'object' } })) }
  })

  const listing = post('alice', { method: 'tools/list' }, session)
  await web.waitForCall('tools/list')
  await (await post('alice:admin', { method: 'ping' }, session)).text()
  release()

  assert.doesNotMatch(await (await listing).text(), /drop/)
})

test('a session that ends lets go of what it watched under a label', async t => {
  const resources = Object.fromEntries(Array.from({ length: 3 }, (_, i) => [`test://${i}`, 'text']))
  const web = closeAfter(t, await testUpstream({ resources, capabilities: { resources: { subscribe: true } } }))
  const served = await serve(t, {}, web)
  const session = await greet(served, 'alice')
  const subscribe = { method: 'resources/subscribe', params: { uri: 'test://1' } }
  await (await served.post('alice', subscribe, { ...session, 'x-session-id': 'x' })).text()

  const told = web.waitForCall('resources/unsubscribe').catch(() => undefined)
  await fetch(served.url, { method: 'DELETE', headers: { authorization: 'Bearer alice', ...session } })

  // Of a modern server nothing is unsubscribed: its listen is opened anew without the URI.
  if (web.listCalls('resources/subscribe').length > 0) assert.ok(await told)
  const again = await greet(served, 'bob')
  const reply = await (await served.post('bob', subscribe, again)).text()
  assert.match(reply, /"result":\{/)
})
