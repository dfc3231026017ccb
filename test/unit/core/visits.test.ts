import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isObject, type JsonObject } from '../../../src/plugin.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'

const UNSAFE = [
  'javascript:alert(1)',
  ' Java\nScript:alert(1)',
  'file:///etc/passwd',
  'data:text/html,x',
  'app://x',
  'no-page',
]
const SAFE = 'https://host.example/login?a=1'
const CAPABILITIES = { elicitation: { form: {}, url: {} } }

function visit(url: string): JsonObject {
  return { mode: 'url', message: 'log in', url, elicitationId: 'e1' }
}

/** A modern server that sends its user to a page, by a wish or, as legacy servers do, by an error. */
function upstream(era: 'modern' | 'legacy') {
  return testUpstream({
    era,
    tools: {
      visit: (args: JsonObject, { params }: { params: JsonObject }) => {
        if (isObject(params.inputResponses)) return 'been there'
        const ask = { method: 'elicitation/create', params: visit(String(args.url)) }
        return era === 'modern'
          ? { resultType: 'input_required', inputRequests: { page: ask }, requestState: 's' }
          : { code: -32042, message: 'log in first', data: { elicitations: [visit(String(args.url))] } }
      },
    },
  })
}

for (const server of ['modern', 'legacy'] as const)
  for (const era of ['modern', 'legacy'] as const)
    test(`a ${era} client is sent by a ${server} server to pages, and to nothing that runs code or reads files`, async t => {
      const web = closeAfter(t, await upstream(server))
      const gateway = closeAfter(t, await testGateway({ upstreams: { web } }))
      const client = closeAfter(t, await testClient(gateway, { era, capabilities: CAPABILITIES }))
      const reply = async (url: string): Promise<string> => {
        const { result, error, notifications } = await client.request('tools/call', {
          name: 'web__visit',
          arguments: { url },
        })
        return JSON.stringify([result, error, notifications])
      }

      const told = await Promise.all(UNSAFE.map(async url => [url, await reply(url)] as const))
      assert.deepEqual(
        told.filter(([url, text]) => text.includes(JSON.stringify(url).slice(1, -1))),
        [],
      )
      // A legacy client is asked on its stream, which this one does not answer: the matrix has that road.
      if (era === 'modern' || server === 'legacy') assert.ok((await reply(SAFE)).includes(SAFE))
    })
