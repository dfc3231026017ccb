import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../../src/plugin.ts'
import { closeAfter, TestClock, testClient, type TestClient, testGateway } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { mockApi, type MockApi } from '../../../fixtures/openapi/mock-api.ts'
import { until } from '../../../fixtures/until.ts'

const responses = { 200: { description: 'fine' } }

interface World {
  readonly api: MockApi
  readonly client: TestClient
}

async function worldOf(
  t: TestContext,
  paths: JsonObject,
  options: JsonObject = {},
  clock = new TestClock(),
): Promise<World> {
  const directory = mkdtempSync(join(tmpdir(), 'tapgate-openapi-'))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  const document = { openapi: '3.0.3', info: { title: 'API', version: '1' }, paths }
  writeFileSync(join(directory, 'api.json'), JSON.stringify(document))
  const api = closeAfter(t, await mockApi(document, '/base'))
  const spec = { type: 'openapi', document: 'api.json', server: api.url, ...options }
  const gateway = closeAfter(t, await testGateway({ directory, config: { upstreams: { api: spec } }, clock }))
  return { api, client: closeAfter(t, await testClient(gateway)) }
}

async function call(client: TestClient, name: string, args: JsonObject = {}): Promise<string> {
  const { result, error } = await client.request('tools/call', { name: `api__${name}`, arguments: args })
  const content = (result?.content ?? []) as { text?: string }[]
  return `${result?.isError === true ? 'failed: ' : ''}${error?.message ?? content[0]?.text ?? ''}`
}

const ITEM = {
  '/items/{id}/parts/{part}': {
    get: {
      operationId: 'part',
      responses,
      parameters: [
        { name: 'id', in: 'path', required: true, schema: { type: 'string' } },
        { name: 'part', in: 'path', required: true, schema: { type: 'string' } },
        { name: 'X-Tag', in: 'header', schema: { type: 'string' } },
        { name: 'Authorization', in: 'header', schema: { type: 'string' } },
        { name: 'Host', in: 'header', schema: { type: 'string' } },
        { name: 'q', in: 'query', schema: { type: 'string' } },
        { name: 'session', in: 'cookie', schema: { type: 'string' } },
      ],
    },
  },
}

test('arguments stay in their place: no other path, no other parameter, no other header', async t => {
  const { client, api } = await worldOf(t, ITEM)
  const steps = ['..', '.', '../x', 'a/../../b', 'a\\..\\b', '%2e%2e', '%252e%252e', 'a/%2e%2e/b', '']
  for (const id of steps)
    assert.match(await call(client, 'part', { id, part: 'p' }), /^failed: Invalid arguments/, JSON.stringify(id))
  for (const tag of ['a\r\nX-Evil: 1', 'a\nb', 'a\u0000b', '\u0100'])
    assert.match(await call(client, 'part', { id: 'i', part: 'p', 'X-Tag': tag }), /^failed: .* is a header/)
  assert.equal(api.heard.length, 0)

  const awkward = 'a/b?c=d&e#f%2F ö\r\n;"'
  await call(client, 'part', { id: awkward, part: 'x..y', q: awkward, session: awkward, 'X-Tag': 'fine' })
  const request = api.heard[0]?.request
  assert.deepEqual(api.heard[0]?.problems, [])
  assert.equal(request?.path, `/items/${encodeURIComponent(awkward)}/parts/x..y`)
  assert.equal(request?.query, `q=${encodeURIComponent(awkward)}`)
  assert.equal(request?.headers['x-tag'], 'fine')
  assert.equal(request?.headers.cookie, `session=${encodeURIComponent(awkward)}`)
})

test('headers that say who calls, and arguments that nobody knows, are none', async t => {
  const { client, api } = await worldOf(t, ITEM)

  for (const name of ['Authorization', 'Host', 'constructor', '__proto__x'])
    assert.match(await call(client, 'part', { id: 'i', part: 'p', [name]: 'x' }), /^failed: .*unknown argument/)
  assert.match(await call(client, 'part', { id: 'i' }), /missing argument "part"/)
  assert.match(await call(client, 'part', { id: 'i', part: 'p', X_Tag: 'x' }), /did you mean "X-Tag"/)
  assert.equal(api.heard.length, 0)
})

test('replies of every kind become results', async t => {
  const paths = { '/x': { get: { operationId: 'x', responses }, head: { operationId: 'h', responses } } }
  const { client, api } = await worldOf(t, paths, { maxReply: '1KiB' })
  const answer = (status: number, headers: Record<string, string>, body: string | Buffer): void => {
    api.reply = (_request, response) => {
      response.writeHead(status, headers).end(body)
      return true
    }
  }
  const content = async (name = 'x'): Promise<unknown> => {
    const { result, error } = await client.request('tools/call', { name: `api__${name}`, arguments: {} })
    return error?.message ?? (result?.content as unknown[])[0]
  }

  answer(204, {}, '')
  assert.deepEqual(await content(), { type: 'text', text: 'HTTP 204, without content' })
  answer(200, { 'content-type': 'text/plain' }, 'words')
  assert.deepEqual(await content(), { type: 'text', text: 'words' })
  answer(200, { 'content-type': 'application/json' }, '{broken')
  assert.deepEqual(await content(), { type: 'text', text: '{broken' })
  answer(200, { 'content-type': 'image/png' }, Buffer.from([0x89, 0x50]))
  assert.deepEqual(await content(), { type: 'image', data: 'iVA=', mimeType: 'image/png' })
  answer(200, { 'content-type': 'application/pdf' }, Buffer.from([0xff, 0x00]))
  assert.deepEqual(await content(), {
    type: 'resource',
    resource: { uri: 'openapi:x', mimeType: 'application/pdf', blob: '/wA=' },
  })
  answer(302, { location: 'http://169.254.169.254/' }, '')
  assert.deepEqual(await content(), {
    type: 'text',
    text: 'HTTP 302: redirects are not followed',
  })
  answer(429, { 'retry-after': '7' }, 'slow down')
  assert.deepEqual(await content(), {
    type: 'text',
    text: 'HTTP 429\nRetry in 7 s.\nslow down',
  })
  answer(200, { 'content-type': 'text/plain' }, 'x'.repeat(1025))
  assert.equal(await content(), 'a reply from upstream "api" is larger than 1024 bytes')
  answer(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }, 'x')
  assert.match(String(await content()), /unrequested compression/)
  answer(200, { 'content-length': '5000' }, '')
  assert.deepEqual(await content('h'), { type: 'text', text: 'HTTP 200, without content' })
  answer(200, { 'content-type': 'text/plain' }, 'after HEAD')
  assert.deepEqual(await content(), { type: 'text', text: 'after HEAD' })
})

test('a call that takes too long is given up, and the next one goes through', async t => {
  const paths = { '/x': { get: { operationId: 'x', responses } } }
  const clock = new TestClock()
  const { client, api } = await worldOf(t, paths, { timeout: '10m' }, clock)
  let isAsked = false
  let isClosed = false
  api.reply = (_request, response) => {
    isAsked = true
    response.on('close', () => (isClosed = true))
    return true
  }
  const late = call(client, 'x')
  await until(() => isAsked, 'it is asked')
  clock.advance(600_000)
  assert.match(await late, /600000 ?ms|in time|timed? ?out/i)
  await until(() => isClosed, 'it is given up')
  api.reply = undefined
  assert.equal(await call(client, 'x'), '{"ok":true}')
})
