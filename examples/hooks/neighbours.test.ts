import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plugin } from 'tapgate/plugin'
import { closeAfter, testGateway } from 'tapgate/testing'
import { sameKey } from './building.ts'

test('neighbours: ids of conversations begin with the place of the process', async t => {
  const place = 'r0123456789abcdef'
  const options = { key: '00'.repeat(32), place }
  const plugin: Plugin<never> = { ...sameKey, setup: api => sameKey.setup({ ...api, options }) }
  const gateway = closeAfter(t, await testGateway({ plugins: [plugin] }))

  const ids = await Promise.all([1, 2].map(() => sessionOf(gateway.url)))

  assert.deepEqual(
    ids.map(id => id.startsWith(`${place}_`)),
    [true, true],
  )
})

/** The id that a legacy client gets with the answer to its greeting. */
async function sessionOf(url: string): Promise<string> {
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'c', version: '1' } }
  const answer = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
  })
  await answer.text()
  return answer.headers.get('mcp-session-id') ?? ''
}
