import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { type Plugin } from '../../../src/plugin.ts'
import { definePlugin } from '../../fixtures/define-plugin.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import {
  closeAfter,
  testClient,
  testGateway,
  testUpstream,
  type TestClient,
  type TestGateway,
} from '../../../src/testing/index.ts'
import { parseExposition, valueOf, type ParsedFamily } from './metrics-parser.ts'

const TOOLS = {
  a: () => 'a',
  b: () => 'b',
  c: () => 'c',
  d: () => ({ content: [], isError: true }),
}

interface Lab {
  readonly gateway: TestGateway
  readonly client: TestClient
  readonly url: string
}

async function lab(t: TestContext, config: JsonObject, plugins: Plugin<never>[] = []): Promise<Lab> {
  const web = closeAfter(t, await testUpstream({ tools: TOOLS }))
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, config, plugins }))
  const client = closeAfter(t, await testClient(gateway, { era: 'legacy' }))
  return { gateway, client, url: web.url }
}

async function scrape(gateway: TestGateway, path = '/metrics'): Promise<Map<string, ParsedFamily>> {
  const reply = await fetch(new URL(path, gateway.gateway.listeners[0]?.url))
  assert.match(reply.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
  return parseExposition(await reply.text())
}

function call(client: TestClient, tool: string): Promise<unknown> {
  return client.request('tools/call', { name: tool })
}

describe('metrics', () => {
  test('count calls by method, upstream, tool and outcome, and time them', async t => {
    const { gateway, client } = await lab(t, { metrics: {} })
    for (const tool of ['web__a', 'web__a', 'web__b', 'web__d', 'web__x', 'y']) await call(client, tool)
    const found = await scrape(gateway)

    const counted = (labels: Record<string, string>): number | undefined =>
      valueOf(found, 'tapgate_calls_total', { method: 'tools/call', ...labels })
    assert.equal(counted({ upstream: 'web', tool: 'web__a', outcome: 'ok' }), 2)
    assert.equal(counted({ upstream: 'web', tool: 'web__b', outcome: 'ok' }), 1)
    assert.equal(counted({ upstream: 'web', tool: 'web__d', outcome: 'is_error' }), 1)
    assert.equal(counted({ tool: '', outcome: 'refused' }), 2)
    assert.equal(counted({ tool: 'web__x' }), undefined)
    const timed = { method: 'tools/call', upstream: 'web', le: '+Inf' }
    assert.equal(valueOf(found, 'tapgate_call_duration_seconds', timed), 4)
    assert.equal(valueOf(found, 'tapgate_sessions'), 1)
    assert.equal(valueOf(found, 'tapgate_upstream_up', { upstream: 'web' }), 1)
    assert.equal(valueOf(found, 'tapgate_upstream_breaker_state', { state: 'closed' }), 1)
    assert.ok(Number(valueOf(found, 'tapgate_upstream_cache_misses_total', { upstream: 'web' })) >= 1)
    assert.ok(Number(valueOf(found, 'process_resident_memory_bytes')) > 1e6)
  })

  test('have so many series and no more, whatever peers call things', async t => {
    const { gateway, client } = await lab(t, { metrics: { tools: 2 } })
    for (const tool of ['a', 'b', 'c', 'd', 'a']) await call(client, `web__${tool}`)
    for (let i = 0; i < 20; i++) {
      await call(client, `web__${i}`)
      await client.request(`own/method-${i}`, {})
    }
    const found = await scrape(gateway)

    const samples = found.get('tapgate_calls_total')?.samples ?? []
    const tools = new Set(samples.map(({ labels }) => labels.tool))
    assert.deepEqual([...tools].sort(), ['', 'other', 'web__a', 'web__b'])
    assert.equal(valueOf(found, 'tapgate_calls_total', { tool: 'other', outcome: 'ok' }), 1)
    assert.equal(new Set(samples.map(({ labels }) => labels.method)).size, 3)
    for (const side of ['server', 'client']) {
      const own = found.get(`mcp_${side}_operation_duration_seconds`)?.samples ?? []
      const named = new Set(own.map(({ labels }) => labels.gen_ai_tool_name))
      assert.deepEqual([named.size, named.has('other')], [4, true])
    }
  })

  test('go on through a reload', async t => {
    const { gateway, client, url } = await lab(t, { metrics: {} })
    await call(client, 'web__a')
    await gateway.gateway.reload({
      version: 1,
      listeners: { main: { type: 'http', port: 0 } },
      upstreams: { web: { type: 'http', url, timeout: '5s' } },
      metrics: { path: '/figures' },
    })
    await call(client, 'web__a')

    const found = await scrape(gateway, '/figures')
    assert.equal(valueOf(found, 'tapgate_calls_total', { tool: 'web__a', outcome: 'ok' }), 2)
    assert.equal(valueOf(found, 'tapgate_sessions'), 1)
  })

  test('are served on the listeners that are named, to who reads', async t => {
    const listeners = { main: { type: 'http', port: 0 }, inner: { type: 'http', port: 0 } }
    const { gateway } = await lab(t, { listeners, metrics: { listeners: ['inner'] } })
    const [main, inner] = gateway.gateway.listeners.map(({ url }) => new URL('/metrics', url))
    const status = async (url: URL | undefined, method: string): Promise<number> =>
      (await fetch(String(url), { method })).status

    assert.deepEqual(
      [await status(main, 'GET'), await status(inner, 'GET'), await status(inner, 'HEAD'), await status(inner, 'POST')],
      [404, 200, 200, 405],
    )
  })

  test('show the figures that any plugin adds to a status', async t => {
    const tides = definePlugin({
      name: 'tides',
      setup: ({ hooks }) =>
        hooks.status.tap(status => ({
          ...status,
          tides: { highWater: 7, isEbb: true, seenAt: 123, moon: 'full' },
        })),
    })
    const { gateway } = await lab(t, { metrics: {} }, [tides])
    const found = await scrape(gateway)

    assert.equal(valueOf(found, 'tapgate_upstream_tides_high_water', { upstream: 'web' }), 7)
    assert.equal(valueOf(found, 'tapgate_upstream_tides_is_ebb', { upstream: 'web' }), 1)
    assert.deepEqual(
      [...found.keys()].filter(name => /seen|moon/.test(name)),
      [],
    )
  })

  test('count who was not let in, and are for who is', async t => {
    const door = definePlugin({
      name: 'door',
      setup: ({ hooks }) =>
        hooks.authenticate.tap(({ header }) =>
          header('x-key').length === 0 ? { status: 401, error: { code: -32001, message: 'no key' } } : undefined,
        ),
    })
    const gateway = closeAfter(t, await testGateway({ plugins: [door as Plugin<never>], config: { metrics: {} } }))
    const url = new URL('/metrics', gateway.url)
    assert.equal((await fetch(url)).status, 401)

    const reply = await fetch(url, { headers: { 'x-key': '1' } })
    assert.equal(valueOf(parseExposition(await reply.text()), 'tapgate_refused_requests_total'), 1)
  })
})

test('metrics have the histograms of OpenTelemetry for MCP, of requests and of tries', async t => {
  const { gateway, client } = await lab(t, { metrics: {} })
  for (const tool of ['web__a', 'web__a', 'web__d', 'web__x']) await call(client, tool)
  const found = await scrape(gateway)

  const method = { mcp_method_name: 'tools/call' }
  const counted = (side: string, labels: Record<string, string>): number | undefined =>
    valueOf(found, `mcp_${side}_operation_duration_seconds`, { ...method, ...labels, le: '+Inf' })
  assert.equal(counted('server', { error_type: 'tool_error' }), 1)
  assert.equal(counted('server', { error_type: '-32602' }), 1)
  assert.equal(counted('client', { error_type: 'tool_error' }), 1)
  assert.equal(counted('client', { error_type: '-32602' }), undefined)
  const bounds = found.get('mcp_server_operation_duration_seconds')
  assert.ok(JSON.stringify(bounds).includes('300.0'))
})

test('error types that one server makes up hide none of another server and of the gateway', async t => {
  let code = 1000
  const codes = { 'tools/call': () => ({ code: code++, message: 'made up' }) }
  const odd = closeAfter(t, await testUpstream({ tools: { x: () => '' }, methods: codes }))
  const own = closeAfter(t, await testUpstream({ tools: TOOLS, methods: {} }))
  const gateway = closeAfter(t, await testGateway({ upstreams: { odd, own }, config: { metrics: {} } }))
  const client = closeAfter(t, await testClient(gateway, { era: 'legacy' }))
  for (let i = 0; i < 60; i++) await call(client, 'odd__x')
  for (const tool of ['own__d', 'own__x']) await call(client, tool)
  const found = await scrape(gateway)

  for (const side of ['client', 'server']) {
    const family = found.get(`mcp_${side}_operation_duration_seconds`)
    const types = (family?.samples ?? []).map(({ labels }) => labels.error_type)
    assert.ok(types.includes('tool_error'))
    assert.equal(types.includes('-32602'), side === 'server')
    assert.ok(new Set(types).size < 20, 'and there are few')
  }
})
