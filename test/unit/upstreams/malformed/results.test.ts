import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { rawServer, startMalformed } from '../../../fixtures/malformed-upstream.ts'

const TEXT = { type: 'text', text: 'ok' }

/** Results of a tool that strict clients refuse as they are. */
const RESULTS: readonly JsonObject[] = [
  ...['_meta', 'isError', 'structuredContent', 'annotations'].map(key => ({ content: [TEXT], [key]: null })),
  { content: [TEXT], _meta: null, isError: null, structuredContent: null },
  { content: null, isError: false },
  ...['annotations', '_meta'].map(key => ({ content: [{ ...TEXT, [key]: null }] })),
  { content: [{ ...TEXT, text: 'long '.repeat(1000), annotations: null }] },
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

/** Results with members of a wrong type, each with what clients get of its members. */
const WRONG_TYPES: readonly (readonly [JsonObject, JsonObject])[] = [
  ...['yes', 1, []].map(isError => [{ content: [TEXT], isError }, { content: [TEXT] }] as const),
  ...['x', true, []].map(_meta => [{ content: [TEXT], _meta }, { content: [TEXT] }] as const),
  ...['ok', TEXT].map(
    content =>
      [
        { content, isError: true },
        { content: [TEXT], isError: true },
      ] as const,
  ),
  [{ content: 7 }, { content: [] }],
  [
    { isError: 'no', _meta: 1, content: [{ ...TEXT, _meta: null }], structuredContent: { a: null } },
    { content: [TEXT], structuredContent: { a: null } },
  ],
]
const WRONG_STRUCTURES = ['x', 1, true, []].map(
  structuredContent => [{ content: [TEXT], structuredContent }, { content: [TEXT] }] as const,
)

for (const era of ['legacy', 'modern'] as const) {
  const frame = era === 'legacy' ? {} : { resultType: 'complete' }
  const lists: Readonly<Record<string, unknown>> = {
    'tools/list': { tools: [{ name: 'tool', inputSchema: { type: 'object' } }] },
    'prompts/list': { prompts: [{ name: 'prompt' }] },
    'resources/list': { resources: [{ uri: 'bad://one', name: 'one' }] },
  }

  test(`results of a ${era} server may have members of a wrong type`, async t => {
    let result: JsonObject = {}
    const bad = rawServer(method => lists[method] ?? { ...frame, ...result }, era)
    const { peers } = await startMalformed(t, { servers: { bad } })

    for (const [sent, expected] of [...WRONG_TYPES, ...(era === 'legacy' ? WRONG_STRUCTURES : [])]) {
      result = sent
      await peers.each(async client => {
        const { content, isError, structuredContent } = await client.callTool({
          name: 'bad__tool',
          arguments: {},
        })
        const got = JSON.parse(JSON.stringify({ content, isError, structuredContent })) as JsonObject
        assert.deepEqual(got, expected, JSON.stringify(sent))
      })
    }
    result = { messages: { role: 'user', content: TEXT }, _meta: [] }
    const prompts = await peers.each(client => client.getPrompt({ name: 'bad__prompt' }))
    for (const { messages } of prompts.values()) assert.equal(messages.length, 1)
    const freshness = era === 'legacy' ? {} : { ttlMs: 0, cacheScope: 'private' }
    result = { ...freshness, contents: { uri: 'bad://one', text: 'x' }, _meta: 'x' }
    const read = await peers.each(client => client.readResource({ uri: 'bad://one' }))
    for (const { contents } of read.values()) assert.equal(contents.length, 1)
  })

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
