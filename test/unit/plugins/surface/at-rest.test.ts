import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../../src/plugin.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../../src/testing/index.ts'

const TOOLS = { echo: { description: 'Says it again.', inputSchema: { type: 'object' }, run: () => 'hi' } }

async function serve(t: TestContext, config: JsonObject = {}) {
  const web = closeAfter(t, await testUpstream({ tools: TOOLS }))
  return closeAfter(t, await testGateway({ upstreams: { web }, config }))
}

/** Names of the hooks that each of these plugins taps. */
function tappedBy(hooks: object, plugins: readonly string[]): Record<string, string[]> {
  const of = (plugin: string): string[] =>
    Object.entries(hooks as Record<string, { plugin: string }[]>)
      .filter(([, taps]) => taps.some(tap => tap.plugin === plugin))
      .map(([hook]) => hook)
      .toSorted()
  return Object.fromEntries(plugins.map(plugin => [plugin, of(plugin)]))
}

test('nothing of fit, surface and shape stands in the way of a call that was not asked for', async t => {
  const { hooks } = await (await serve(t)).gateway.inspect()
  assert.deepEqual(tappedBy(hooks, ['fit', 'surface', 'shape']), {
    fit: ['control', 'listing', 'services'],
    surface: [],
    shape: [],
  })

  const asked = { fit: { resources: 'asTools' }, surface: {}, shape: { maxTokens: 8000 } }
  const configured = tappedBy((await (await serve(t, asked)).gateway.inspect()).hooks, Object.keys(asked))
  assert.ok(configured.fit?.includes('request'))
  assert.ok(configured.surface?.includes('response'))
  assert.ok(configured.shape?.includes('response'))
})

test('a list that did not change is the same bytes for every client of a program', async t => {
  const gateway = await serve(t, { surface: { mode: 'search' } })
  const read = async (): Promise<string> => {
    const client = await testClient(gateway, { era: 'legacy', info: { name: 'cursor', version: '1' } })
    closeAfter(t, client)
    const response = await fetch(gateway.url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-session-id': String(client.initializeReply?.headers['mcp-session-id']),
      },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
    })
    return response.text()
  }
  const first = await read()
  assert.match(first, /"tools":\[\{/)
  assert.equal(await read(), first)
  const unlike = await testClient(gateway, { era: 'modern', info: { name: 'cursor', version: '1' } })
  closeAfter(t, unlike)
  await unlike.request('tools/call', { name: 'web__echo', arguments: {} })
  assert.equal(await read(), first)
})
