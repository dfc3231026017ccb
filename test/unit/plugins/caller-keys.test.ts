import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { test } from 'node:test'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { mockApi } from '../../fixtures/openapi/mock-api.ts'
import { createKey } from '../../../src/cli/scaffold.ts'
import { linesOf } from '../config/temp.ts'

const [ann, bob, eve] = ['ann', 'bob', 'eve'].map(name => createKey(name, []))
const auth = { keys: [ann, bob, eve].map(made => ({ name: made?.name, hash: made?.hash })) }
const CALLERS = [
  { principals: 'ann', headers: { 'X-Api-Key': 'key-of-ann-1' } },
  { principals: ['bob', 'bo*'], headers: { 'X-Api-Key': 'key-of-bob-1' } },
]

for (const era of ['modern', 'legacy'] as const)
  test(`each caller's requests carry their own key, to a ${era} server, and whom no entry fits is refused`, async t => {
    const say = (_args: unknown, { headers }: { headers: Record<string, string | undefined> }): string =>
      String(headers['x-api-key'])
    const web = closeAfter(t, await testUpstream({ era, tools: { say } }))
    const upstreams = {
      web: { type: 'http', url: web.url, headers: { 'X-Api-Key': 'of-all' }, callers: CALLERS },
    }
    const config = { auth, upstreams, cache: { tools: { web__say: { ttl: '1m' } } } }
    const gateway = closeAfter(t, await testGateway({ config }))
    const said = async (made: typeof ann): Promise<string> => {
      const headers = { authorization: `Bearer ${made?.key ?? ''}` }
      const client = closeAfter(t, await testClient(gateway, { headers }))
      const answers = [await client.request('tools/list'), await client.request('tools/call', { name: 'web__say' })]
      return JSON.stringify(answers.map(({ result, error }) => result ?? error))
    }

    assert.match(await said(ann), /\*\*\*|key-of-ann-1/)
    assert.match(await said(bob), /\*\*\*|key-of-bob-1/)
    assert.doesNotMatch(await said(eve), /key-of|of-all|"text"/)

    const sent = web.calls.map(({ headers }) => headers['x-api-key'])
    assert.deepEqual([...new Set(sent)].sort(), ['key-of-ann-1', 'key-of-bob-1'])
    const called = web.listCalls('tools/call').map(({ headers }) => headers['x-api-key'])
    assert.deepEqual(called, ['key-of-ann-1', 'key-of-bob-1'])
    const shown = JSON.stringify([gateway.log, await gateway.gateway.inspect(), await gateway.gateway.control('ps')])
    assert.doesNotMatch(shown, /key-of-|of-all/)
  })

test('calls of an HTTP API carry the key of their caller, and whom no entry fits is refused', async t => {
  const directory = mkdtempSync(join(tmpdir(), 'tapgate-caller-keys-'))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  const responses = { 200: { description: 'fine' } }
  const paths = { '/say': { get: { operationId: 'say', responses } } }
  const document = { openapi: '3.0.3', info: { title: 'API', version: '1' }, paths }
  writeFileSync(join(directory, 'api.json'), JSON.stringify(document))
  const api = closeAfter(t, await mockApi(document, '/base'))
  const web = { type: 'openapi', document: 'api.json', server: api.url, callers: CALLERS }
  const headers = { 'X-Api-Key': 'of-all' }
  const config = {
    auth,
    upstreams: { web: { ...web, headers } },
    cache: { tools: { web__say: { ttl: '1m' } } },
  }
  const gateway = closeAfter(t, await testGateway({ directory, config }))
  for (const made of [ann, bob, eve, ann]) {
    const as = { headers: { authorization: `Bearer ${made?.key ?? ''}` } }
    const client = closeAfter(t, await testClient(gateway, as))
    const { error } = await client.request('tools/call', { name: 'web__say', arguments: {} })
    assert.equal(error === undefined, made !== eve)
  }

  const sent = api.heard.map(({ request }) => request.headers['x-api-key'])
  assert.deepEqual(sent, ['key-of-ann-1', 'key-of-bob-1', 'key-of-ann-1'].slice(0, sent.length))
  assert.ok(sent.length === 2 || sent.length === 3, String(sent.length))
})

test('a key in the URL is that of the caller, beside those of the upstream', async t => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.url ?? '')
    void text(request).then(body => {
      const { id } = JSON.parse(body || '{}') as { id?: number }
      const error = { code: -32601, message: 'Method not found' }
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, error }))
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanup(t, () => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const callers = [{ principals: '*', query: { key: 'of & all' } }]
  const upstreams = { web: { type: 'http', url, query: { plain: '1', key: 'of-nobody' }, callers } }
  const gateway = closeAfter(t, await testGateway({ config: { auth, upstreams } }))
  const headers = { authorization: `Bearer ${ann?.key ?? ''}` }
  const client = closeAfter(t, await testClient(gateway, { headers }))
  await client.request('tools/list')

  assert.deepEqual([...new Set(asked)], ['/mcp?plain=1&key=of%20%26%20all'])
})

test('keys for callers need callers, and one who puts them on', async t => {
  const file = (more: string): string =>
    `${more}listeners: { main: { type: http } }\nupstreams:\n  a:\n    type: http\n    url: https://a.example\n    callers: [{ principals: ann }]\n`
  const lines = await linesOf(t, { 'gateway.yaml': file('') })
  assert.match(lines.join('\n'), /upstreams\/a\/callers callers are unknown without "auth"/)
})
