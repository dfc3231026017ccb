import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testGateway, testUpstream } from '../../../../src/testing/index.ts'

test('a rule for a profile counts only its clients', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { read: () => 'read' } }))
  const { gateway } = closeAfter(
    t,
    await testGateway({
      upstreams: { web },
      config: {
        listeners: { main: { type: 'http', port: 0 } },
        profiles: { guests: {}, staff: {} },
        rateLimit: { rules: { guests: { profiles: 'guests', perMinute: 1, per: [] } } },
      },
    }),
  )
  const call = async (profile: string): Promise<number> => {
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const reply = await fetch(`${gateway.listeners[0]?.url}/${profile}`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'web__read',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'web__read', _meta },
      }),
    })
    await reply.body?.cancel()
    return reply.status
  }

  const statuses = [await call('guests'), await call('guests'), await call('staff'), await call('staff')]

  assert.deepEqual(statuses, [200, 429, 200, 200])
})
