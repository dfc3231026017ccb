import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient, testGateway, testUpstream } from 'tapgate/testing'

for (const era of ['modern', 'legacy'] as const) {
  test(`a ${era} client never sees a redacted word`, async t => {
    const web = closeAfter(t, await testUpstream({ tools: { whoami: () => 'ann, password hunter2' } }))
    const plugins = { redact: { use: './redact.ts', options: { words: ['hunter2'] } } }
    const gateway = closeAfter(
      t,
      await testGateway({ upstreams: { web }, config: { plugins }, directory: import.meta.dirname }),
    )
    const client = closeAfter(t, await testClient(gateway, { era }))

    const { result } = await client.request('tools/call', { name: 'web__whoami' })

    assert.deepEqual(result?.content, [{ type: 'text', text: 'ann, password •••' }])
    assert.ok(gateway.log.some(line => line.message === 'redacted an answer'))
  })
}

test('options that make no sense stop the start, and say so', async () => {
  const plugins = { redact: { use: './redact.ts', options: { word: 'hunter2' } } }

  await assert.rejects(testGateway({ config: { plugins }, directory: import.meta.dirname }), {
    code: 'GW_PLUGIN_OPTIONS',
    message: /"redact"/,
  })
})
