import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { ServerResponse } from 'node:http'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { parseRetryAfter } from '../../../../src/upstreams/http/http-failures.ts'
import { closeAfter, TestClock, testClient, testGateway } from '../../../../src/testing/index.ts'
import { json, modern, peer, result, type Heard, type Peer } from '../../fixtures/http-peer.ts'

type Handle = (heard: Heard, response: ServerResponse) => void

const LISTED: Readonly<Record<string, JsonObject>> = {
  'tools/list': { tools: [{ name: 'a', inputSchema: { type: 'object' } }] },
  'resources/list': { resources: [{ uri: 'memo://a', name: 'a' }] },
  'resources/templates/list': { resourceTemplates: [] },
}

/** A gateway before a server that lists a tool and a resource, and does with calls as it is told. */
async function before(t: TestContext, handle: Handle, spec: JsonObject = {}, clock = new TestClock()) {
  const server = await peer(
    t,
    modern(
      (heard, response) => {
        const list = LISTED[heard.message.method ?? '']
        if (list === undefined) handle(heard, response)
        else result(response, heard, { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...list })
      },
      { tools: {}, resources: {} },
    ),
  )
  const web = { type: 'http', url: server.url, era: 'modern', ...spec }
  const gateway = closeAfter(t, await testGateway({ config: { upstreams: { web } }, clock }))
  const client = closeAfter(t, await testClient(gateway))
  await client.request('tools/list')
  await client.request('resources/list')
  return { server, client, gateway: gateway.gateway }
}

function attempts(server: Peer, method: string): number {
  return server.of(method).length
}

const READ = ['resources/read', { uri: 'memo://a' }] as const
const CALL = ['tools/call', { name: 'web__a', arguments: {} }] as const

test('a Retry-After that cannot be waited for reaches the client', async t => {
  const { server, client } = await before(t, (_heard, response) => json(response, 429, {}, { 'retry-after': '120' }))

  for (const [method, params] of [READ, CALL]) {
    const { error } = await client.request(method, params)
    assert.deepEqual(error?.data, { code: 'GW_UPSTREAM_DOWN', retryAfterMs: 120_000 })
    assert.equal(attempts(server, method), 1)
  }
})

test('Retry-After is a number of seconds, or a date by the clock of the server', () => {
  const date = 'Sat, 21 Nov 2026 19:00:00 GMT'

  assert.equal(parseRetryAfter({ 'retry-after': '7' }), 7000)
  assert.equal(parseRetryAfter({ 'retry-after': 'Sat, 21 Nov 2026 19:00:09 GMT', date }), 9000)
  assert.equal(parseRetryAfter({ 'retry-after': 'Sat, 21 Nov 2026 18:00:00 GMT', date }), 0)
  for (const said of ['', '-1', '1.5', 'soon', '99999999999', 'Sat, 21 Nov 2026 19:00:09 GMT'])
    assert.equal(parseRetryAfter({ 'retry-after': said }), undefined, said)
  assert.equal(parseRetryAfter({}), undefined)
})
