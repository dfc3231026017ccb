import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from '@modelcontextprotocol/client'
import { createGateway } from '../../../../src/index.ts'
import { closeAfter, testUpstream } from '../../../../src/testing/index.ts'

for (const mode of ['legacy', { pin: '2026-07-28' }] as const) {
  test(`an MCP SDK client inside the process talks to the gateway, ${mode === 'legacy' ? 'legacy' : 'modern'}`, async t => {
    const upstream = closeAfter(t, await testUpstream({ tools: { echo: ({ say }) => String(say) } }))
    const gateway = await createGateway({ upstreams: { a: { type: 'http', url: upstream.url } } })
    const client = new Client({ name: 'inside', version: '1' }, { versionNegotiation: { mode } })

    await client.connect(gateway.transport())
    const { tools } = await client.listTools()
    const result = await client.callTool({ name: 'a__echo', arguments: { say: 'hi' } })
    await client.close()
    await gateway.close()

    assert.deepEqual(
      tools.map(tool => tool.name),
      ['a__echo'],
    )
    assert.match(JSON.stringify(result.content), /hi/)
  })
}
