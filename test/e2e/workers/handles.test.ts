import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient, testUpstream, type TestClient } from '../../../src/testing/index.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { placeOf, skipOne, twoWorkers } from './setting.ts'

function saidOf(result: JsonObject | undefined): JsonObject {
  return ((result?._meta as JsonObject | undefined)?.['io.tapgate/result'] ?? {}) as JsonObject
}

async function call(client: TestClient, name: string, args: JsonObject): Promise<JsonObject | undefined> {
  return (await client.request('tools/call', { name, arguments: args })).result
}

test('a handle opens in every worker, as tool and as resource', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { long: () => 'x'.repeat(5000) } }))
  const upstreams = { web: { type: 'http', url: web.url } }
  const { url } = await twoWorkers(t, { upstreams, cache: false, shape: { maxTokens: 200 } })
  const made = closeAfter(t, await testClient(url))
  const { handle, uri } = saidOf(await call(made, 'web__long', {}))
  assert.ok(typeof handle === 'string' && placeOf(handle) !== undefined)

  for (let time = 0; time < 4; time++) {
    // One connection each, which goes to the workers in turn.
    const client = closeAfter(t, await testClient(url))
    const page = await call(client, 'read_result', { handle })
    const { result } = await client.request('resources/read', { uri })
    assert.equal(page?.isError, undefined, JSON.stringify(page))
    assert.match(JSON.stringify(result?.contents), /x{5000}/)
    if (time % 2 === 0) await skipOne(url)
  }
})
