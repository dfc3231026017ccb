import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { rawServer, sendJson, startMalformed, type RawServer } from '../../../fixtures/malformed-upstream.ts'

const TEXT = { type: 'text', text: 'ok' }

/** Results of a tool that strict clients refuse as they are. */
const RESULTS: readonly JsonObject[] = [
  ...['_meta', 'isError', 'structuredContent', 'annotations'].map(key => ({ content: [TEXT], [key]: null })),
  { content: [TEXT], _meta: null, isError: null, structuredContent: null },
  { content: null, isError: false },
  ...['annotations', '_meta'].map(key => ({ content: [{ ...TEXT, [key]: null }] })),
  ...['audience', 'priority', 'lastModified'].map(key => ({
    content: [{ ...TEXT, annotations: { [key]: null } }],
  })),
  ...['mimeType', '_meta'].map(key => ({
    content: [{ type: 'resource', resource: { uri: 'a:b', text: 'x', [key]: null } }],
  })),
  ...['title', 'description', 'mimeType', 'size', 'icons', 'annotations', '_meta'].map(key => ({
    content: [{ type: 'resource_link', uri: 'a:b', name: 'n', [key]: null }],
  })),
]

for (const era of ['legacy', 'modern'] as const) {
  const frame = era === 'legacy' ? {} : { resultType: 'complete' }
  const lists: Readonly<Record<string, unknown>> = {
    'tools/list': { tools: [{ name: 'tool', inputSchema: { type: 'object' } }] },
    'prompts/list': { prompts: [{ name: 'prompt' }] },
    'resources/list': { resources: [{ uri: 'bad://one', name: 'one' }] },
  }

  test(`results of a ${era} server may have members that are null`, async t => {
    let result: JsonObject = {}
    const bad = rawServer(method => lists[method] ?? { ...frame, ...result }, era)
    const { peers } = await startMalformed(t, { servers: { bad } })

    for (result of RESULTS)
      await peers.each(async client => {
        // A modern server may say that its structured content is null.
        if (era === 'modern' && result.structuredContent === null) return
        const { content } = await client.callTool({ name: 'bad__tool', arguments: {} })
        assert.equal((content as unknown[]).length, result.content === null ? 0 : 1, JSON.stringify(result))
      })
    for (const key of ['description', '_meta']) {
      result = { messages: [{ role: 'user', content: { ...TEXT, annotations: null } }], [key]: null }
      await peers.each(client => client.getPrompt({ name: 'bad__prompt' }))
    }
    for (const key of ['mimeType', '_meta']) {
      const freshness = era === 'legacy' ? {} : { ttlMs: 0, cacheScope: 'private' }
      result = { ...freshness, contents: [{ uri: 'bad://one', text: 'x', [key]: null }] }
      await peers.each(client => client.readResource({ uri: 'bad://one' }))
    }
  })
}

test('nulls in text, in structured content and in members of other names are passed on', async t => {
  const text = '{"a": null, "annotations":null}'
  const answer = { content: [{ type: 'text', text }], structuredContent: { a: null }, other: null }
  const bad = rawServer(method => (method === 'tools/list' ? lists() : answer))
  const { peers } = await startMalformed(t, { servers: { bad } })

  const results = await peers.each(async (client): Promise<JsonObject> => ({
    ...(await client.callTool({ name: 'bad__tool' })),
  }))
  for (const result of results.values())
    for (const [key, value] of Object.entries(answer)) assert.deepEqual(result[key], value)
})

function lists(): JsonObject {
  return { tools: [{ name: 'tool', inputSchema: { type: 'object' } }] }
}

test('a server may echo ids as text', async t => {
  const plain = rawServer(method => (method === 'tools/list' ? lists() : { content: [TEXT] }))
  const bad: RawServer = (request, response) =>
    plain(request, {
      writeHead: () => response,
      end: (body = '') =>
        body === ''
          ? response.writeHead(request.verb === 'POST' ? 202 : 405).end()
          : sendJson(response, body.replace(/"id":(\d+)/, '"id":"$1"')),
    } as unknown as typeof response)
  const { peers } = await startMalformed(t, { servers: { bad } })

  for (const { tools } of (await peers.useGood()).values()) assert.equal(tools.length, 3)
  await peers.each(client => client.callTool({ name: 'bad__tool', arguments: {} }))
})
