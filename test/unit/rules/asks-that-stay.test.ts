import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refuse, type Plugin } from '../../../src/plugin.ts'
import { isObject, type JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, testUpstream, type TestReply } from '../../../src/testing/index.ts'

const ASKS: Readonly<Record<string, JsonObject>> = {
  elicitation: {
    method: 'elicitation/create',
    params: { message: 'Your password?', requestedSchema: { type: 'object', properties: {} } },
  },
  'elicitation by URL': {
    method: 'elicitation/create',
    params: { mode: 'url', message: 'Go there', url: 'https://x.example/' },
  },
  sampling: { method: 'sampling/createMessage', params: { messages: [], maxTokens: 1 } },
  roots: { method: 'roots/list' },
  'what nobody knows': { method: 'secrets/list' },
  'what nobody can read': { params: {} },
}
const RICH = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }

/** A modern server that asks before it answers. */
function asking(ask: JsonObject) {
  return {
    era: 'modern' as const,
    tools: {
      ask: (_args: JsonObject, { params }: { params: JsonObject }) =>
        isObject(params.inputResponses) ? 'done' : wish(ask),
    },
    prompts: { ask: () => wish(ask) as never },
  }
}

function wish(ask: JsonObject): JsonObject {
  return { resultType: 'input_required', inputRequests: { one: ask }, requestState: 's' }
}

for (const [name, ask] of Object.entries(ASKS))
  test(`a modern server's ask never reaches a client that did not declare it: ${name}`, async t => {
    const server = closeAfter(t, await testUpstream(asking(ask)))
    for (const settle of [true, false])
      for (const era of ['modern', 'legacy'] as const) {
        const gateway = closeAfter(t, await testGateway({ upstreams: { server }, settle }))
        const client = closeAfter(t, await testClient(gateway, { era }))
        const reply = await client.request('tools/call', { name: 'server__ask', arguments: {} })
        const text = JSON.stringify([reply.result ?? null, reply.notifications])
        check(name, era, reply, text)
      }
  })

function check(name: string, era: string, reply: TestReply, text: string): void {
  assert.doesNotMatch(text, /inputRequests|input_required|password/i)
  // For a legacy client it is as if the server had asked for nothing.
  if (era === 'legacy' && name === 'what nobody can read') return
  assert.ok(reply.error !== undefined || reply.result?.isError === true, text)
  if (era === 'modern' && !name.startsWith('what')) assert.equal(reply.error?.code, -32021)
}

test('a clientRequest hook that denies is heard on every road, and the client is not asked', async t => {
  const deny: Plugin = {
    name: 'deny',
    setup: ({ hooks }) => hooks.clientRequest.tap(() => refuse(-32000, 'never ask anybody')),
  }
  for (const name of ['elicitation', 'sampling', 'roots'])
    for (const settle of [true, false])
      for (const era of ['modern', 'legacy'] as const) {
        const server = closeAfter(t, await testUpstream(asking(ASKS[name] ?? {})))
        const gateway = closeAfter(t, await testGateway({ upstreams: { server }, plugins: [deny], settle }))
        const client = closeAfter(t, await testClient(gateway, { era, capabilities: RICH }))
        const { result, error } = await client.request('tools/call', { name: 'server__ask', arguments: {} })
        assert.match(JSON.stringify(error ?? result), /never ask anybody/)
        assert.equal(server.listCalls('tools/call').length, 1)
      }
})
