import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../../src/plugin.ts'
import {
  closeAfter,
  testClient,
  type TestClient,
  testGateway,
  type TestGateway,
} from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { mockApi, type MockApi } from '../../../fixtures/openapi/mock-api.ts'

const SECRET = 'sk-very-secret-1234567890'

function documentOf(paths: JsonObject, more: JsonObject = {}): JsonObject {
  return { openapi: '3.0.3', info: { title: 'API', version: '1' }, paths, ...more }
}

function directoryOf(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'tapgate-openapi-'))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  return directory
}

interface World {
  readonly api: MockApi
  readonly gateway: TestGateway
  readonly client: TestClient
}

async function worldOf(t: TestContext, document: JsonObject, options: JsonObject = {}): Promise<World> {
  const directory = directoryOf(t)
  writeFileSync(join(directory, 'api.json'), JSON.stringify(document))
  const api = closeAfter(t, await mockApi(document, '/base'))
  const spec = { type: 'openapi', document: 'api.json', server: api.url, ...options }
  const gateway = closeAfter(t, await testGateway({ directory, config: { upstreams: { api: spec } } }))
  return { api, gateway, client: closeAfter(t, await testClient(gateway)) }
}

/** Why an API cannot be used. */
async function problemOf(t: TestContext, spec: JsonObject, directory = directoryOf(t)): Promise<string> {
  const upstreams = { api: { type: 'openapi', ...spec } }
  const gateway = closeAfter(t, await testGateway({ directory, config: { upstreams } }))
  const found = await gateway.gateway.inspect()
  return String(found.upstreams[0]?.problem)
}

async function namesOf(client: TestClient): Promise<string[]> {
  const { result } = await client.request('tools/list', {})
  return ((result?.tools ?? []) as { name: string }[]).map(({ name }) => name)
}

async function call(client: TestClient, name: string, args: JsonObject = {}): Promise<string> {
  const { result, error } = await client.request('tools/call', { name: `api__${name}`, arguments: args })
  const content = (result?.content ?? []) as { text?: string }[]
  return `${result?.isError === true ? 'failed: ' : ''}${error?.message ?? content[0]?.text ?? ''}`
}

const responses = { 200: { description: 'fine' } }

test('references to files and to other hosts are never followed, and leave out what needs them', async t => {
  const asked = closeAfter(t, await mockApi({ paths: {} }))
  const schemaOf = ($ref: string): JsonObject => ({
    post: { responses, requestBody: { content: { 'application/json': { schema: { $ref } } } } },
  })
  const { client, gateway } = await worldOf(
    t,
    documentOf({
      '/file': schemaOf('file:///etc/passwd'),
      '/relative': schemaOf('./api.json#/info'),
      '/http': schemaOf(`${asked.url}/internal`),
      '/item': { $ref: '/etc/passwd' },
      '/parameter': { get: { responses, parameters: [{ $ref: `${asked.url}/parameter` }] } },
      '/prototype': schemaOf('#/__proto__/constructor'),
      '/missing': schemaOf('#/components/schemas/None'),
      '/fine': { get: { responses } },
    }),
  )

  assert.deepEqual(await namesOf(client), ['api__get_fine'])
  assert.equal(asked.heard.length, 0)
  const [upstream] = (await gateway.gateway.inspect()).upstreams
  assert.match(String(upstream?.degraded), /^skipped operations: .*, and 6 more$/)
})

test('schemas that refer to themselves, to each other, or grow without end become small ones', async t => {
  const $ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` })
  const wide = Object.fromEntries(
    Array.from({ length: 30 }, (_, i) => [
      `level${i}`,
      {
        type: 'object',
        properties: Object.fromEntries(Array.from({ length: 10 }, (_, j) => [`p${j}`, $ref(`level${i + 1}`)])),
      },
    ]),
  )
  let deep: JsonObject = { type: 'string' }
  for (let i = 0; i < 1000; i++) deep = { type: 'object', properties: { inner: deep } }
  const post = (name: string): JsonObject => ({
    post: { responses, requestBody: { content: { 'application/json': { schema: $ref(name) } } } },
  })
  const { client } = await worldOf(
    t,
    documentOf(
      {
        '/self': post('self'),
        '/ring': post('ring'),
        '/wide': post('level0'),
        '/deep': post('deep'),
        '/tree': post('tree'),
      },
      {
        components: {
          schemas: {
            self: $ref('self'),
            ring: { allOf: [$ref('gnir')] },
            gnir: { allOf: [$ref('ring')] },
            tree: { type: 'object', properties: { left: $ref('tree'), right: $ref('tree') } },
            ...{ ...wide, level30: { type: 'string' } },
            deep,
          },
        },
      },
    ),
  )
  const { result } = await client.request('tools/list', {})
  const tools = result?.tools as { name: string; inputSchema: JsonObject }[]

  assert.deepEqual(tools.map(({ name }) => name).sort(), [
    'api__post_deep',
    'api__post_ring',
    'api__post_tree',
    'api__post_wide',
  ])
  for (const tool of tools) assert.ok(JSON.stringify(tool).length < 80_000, tool.name)
})

test('a document that is too large, no file, or no document is refused before it is read', async t => {
  const directory = directoryOf(t)
  writeFileSync(join(directory, 'huge.json'), '{')
  truncateSync(join(directory, 'huge.json'), 100 * 1024 * 1024)
  symlinkSync('/dev/zero', join(directory, 'zero.json'))
  writeFileSync(join(directory, 'text.json'), 'root:x:0:0')
  writeFileSync(
    join(directory, 'yaml.yaml'),
    `a: &a [x,x]\n${Array.from({ length: 40 }, (_, i) => `b${i}: &b${i} [*a,*a,*a,*a,*a]`).join('\n')}`,
  )
  const problem = (document: string): Promise<string> => problemOf(t, { document }, directory)

  assert.match(await problem('huge.json'), /larger than 33554432 bytes; increase "maxDocument"/)
  assert.match(await problem('zero.json'), /not a file/)
  assert.match(await problem('.'), /not a file|EISDIR/)
  assert.match(await problem('text.json'), /it is not an object|OpenAPI/)
  assert.match(await problem('yaml.yaml'), /OpenAPI|alias/i)
  assert.match(await problem('none.json'), /file not found/)
})

test('a FIFO in place of a document keeps nobody waiting', { skip: process.platform === 'win32' }, async t => {
  const directory = directoryOf(t)
  execFileSync('mkfifo', [join(directory, 'fifo.json')])

  assert.match(await problemOf(t, { document: 'fifo.json' }, directory), /not a file/)
})

test('a document names no server inside the network, and none of another origin', async t => {
  const directory = directoryOf(t)
  const servers = [
    'http://169.254.169.254/latest',
    'http://127.0.0.1:6379',
    'https://127.0.0.1',
    'https://[::1]/',
    'https://2130706433/',
    'https://localhost/',
    'https://db.internal/',
    'https://intranet/',
    'http://api.example.com/',
    'file:///etc',
    'https://user:pass@api.example.org/',
  ]
  for (const [i, url] of servers.entries()) {
    writeFileSync(join(directory, `${i}.json`), JSON.stringify(documentOf({}, { servers: [{ url }] })))
    assert.match(await problemOf(t, { document: `${i}.json` }, directory), /set "server"$/, url)
  }
  const elsewhere = documentOf({}, { servers: [{ url: 'https://api.attacker.net/' }] })
  const host = closeAfter(t, await mockApi({ paths: {} }))
  host.reply = (_request, response) => {
    response.end(JSON.stringify(elsewhere))
    return true
  }
  assert.match(
    await problemOf(t, { document: `${host.url}/openapi.json` }),
    /declares a server of another origin, https:\/\/api\.attacker\.net/,
  )
})

test('operations on servers of their own are left out where nobody has allowed those', async t => {
  const directory = directoryOf(t)
  const document = documentOf(
    {
      '/here': { get: { responses } },
      '/there': { get: { responses, servers: [{ url: 'https://other.example.net' }] } },
    },
    { servers: [{ url: 'https://api.tapgate.dev/v1' }] },
  )
  writeFileSync(join(directory, 'api.json'), JSON.stringify(document))
  const upstreams = { api: { type: 'openapi', document: 'api.json' } }
  const gateway = closeAfter(t, await testGateway({ directory, config: { upstreams } }))
  const client = closeAfter(t, await testClient(gateway))

  assert.deepEqual(await namesOf(client), ['api__get_here'])
})

test('paths that lead elsewhere are left out', async t => {
  const bad = [
    '/a/../../admin',
    '//evil.example/x',
    'no-slash',
    '/%2e%2e/x',
    '/a?b=c',
    '/a#b',
    '/a b',
    '/a\r\nHost: x',
    '/a\\..\\b',
    '/{nobody}',
  ]
  const { client } = await worldOf(
    t,
    documentOf(Object.fromEntries([...bad, '/good'].map(path => [path, { get: { responses } }]))),
  )

  assert.deepEqual(await namesOf(client), ['api__get_good'])
})

test('credentials go where the document wants them, arguments cannot change them, and nobody reads them', async t => {
  const get = (operationId: string, security?: unknown): JsonObject => ({
    get: {
      operationId,
      responses,
      ...(security === undefined ? {} : { security }),
      parameters: [{ name: 'key', in: 'query', schema: { type: 'string' } }],
    },
  })
  const { client, api, gateway } = await worldOf(
    t,
    documentOf(
      {
        '/both': get('both', [{ other: [] }, { header: [], query: [] }]),
        '/open': get('open', []),
        '/basic': get('basic', [{ basic: [] }]),
        '/unknown': get('unknown', [{ other: [] }]),
      },
      {
        components: {
          securitySchemes: {
            header: { type: 'apiKey', in: 'header', name: 'X-Key' },
            query: { type: 'apiKey', in: 'query', name: 'key' },
            basic: { type: 'http', scheme: 'basic' },
            other: { type: 'oauth2', flows: {} },
          },
        },
      },
    ),
    { security: { header: SECRET, query: `${SECRET}-q`, basic: `user:${SECRET}` } },
  )
  api.reply = ({ headers, query }, response) => {
    const said = { key: headers['x-key'], authorization: headers.authorization, query }
    response
      .writeHead(query.includes('fail') ? 500 : 200, { 'content-type': 'application/json' })
      .end(JSON.stringify(said))
    return true
  }

  const parsed = async (name: string): Promise<unknown> => JSON.parse(await call(client, name, { key: 'mine' }))
  assert.deepEqual(await parsed('both'), { key: SECRET, query: `key=${SECRET}-q` })
  assert.deepEqual(await parsed('open'), { query: 'key=mine' })
  assert.deepEqual(await parsed('basic'), {
    authorization: `Basic ${Buffer.from(`user:${SECRET}`).toString('base64')}`,
    query: 'key=mine',
  })
  assert.deepEqual(await parsed('unknown'), { query: 'key=mine' })
  api.reply = ({ headers }, response) => {
    response.writeHead(403).end(`the key ${String(headers['x-key'])} is no good, ${'x'.repeat(100_000)}`)
    return true
  }
  const refused = await call(client, 'both')
  assert.match(refused, /^failed: HTTP 403\nthe key \*\*\* is no good, x+…$/)
  assert.ok(refused.length < 5000)
  assert.ok(!JSON.stringify([gateway.log, await gateway.gateway.inspect()]).includes(SECRET))
})
