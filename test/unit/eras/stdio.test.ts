import assert from 'node:assert/strict'
import { test } from 'node:test'
import { result } from '../listeners/http/fake-gate.ts'
import { modern, pipe } from '../listeners/stdio/client.ts'

const LINK = { type: 'resource_link', uri: 'file:///a', name: 'a' }
const CALL = { id: 1, method: 'tools/call', params: { name: 't' } }

function initialize(protocolVersion: string) {
  const clientInfo = { name: 'c', version: '1' }
  return { id: 0, method: 'initialize', params: { protocolVersion, capabilities: {}, clientInfo } }
}

for (const [version, type] of [
  ['2025-03-26', 'text'],
  ['2025-06-18', 'resource_link'],
] as const) {
  test(`on a pipe, a client of ${version} gets a link as ${type}`, async () => {
    const client = await pipe()
    client.gate.answering = () => result({ content: [LINK] })

    client.send(initialize(version), CALL)

    await client.next()
    const content = (await client.next()).result.content as readonly { readonly type: string }[]
    assert.equal(content[0]?.type, type)
    await client.listener.stop(0)
  })
}

test('on a pipe, a modern client gets what its server said', async () => {
  const client = await pipe()
  client.gate.answering = () => result({ content: [LINK], structuredContent: [1] })

  client.send(modern('tools/call', 1, {}, { name: 't' }))

  const { content, structuredContent } = (await client.next()).result
  assert.deepEqual({ content, structuredContent }, { content: [LINK], structuredContent: [1] })
  await client.listener.stop(0)
})
