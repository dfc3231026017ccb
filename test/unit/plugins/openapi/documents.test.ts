import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { stringify } from 'yaml'
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
import { sampleOf } from '../../../fixtures/openapi/sample.ts'

const require = createRequire(import.meta.url)

function example(version: string, name: string): JsonObject {
  const file = require.resolve(`@readme/oas-examples/${version}/json/${name}.json`)
  return JSON.parse(readFileSync(file, 'utf8')) as JsonObject
}

interface World {
  readonly api: MockApi
  readonly gateway: TestGateway
  readonly client: TestClient
  readonly file: string
  /** Its configuration. */
  readonly config: JsonObject
}

/** A gateway in front of the API of a document, which is in a file. */
async function worldOf(
  t: TestContext,
  document: JsonObject,
  options: JsonObject = {},
  name = 'api.json',
): Promise<World> {
  const directory = mkdtempSync(join(tmpdir(), 'tapgate-openapi-'))
  cleanup(t, () => rmSync(directory, { recursive: true, force: true }))
  const file = join(directory, name)
  writeFileSync(file, name.endsWith('.yaml') ? stringify(document) : JSON.stringify(document))
  const api = closeAfter(t, await mockApi(document, '/base'))
  const { config = {}, ...own } = options
  const spec = { type: 'openapi', document: name, server: api.url, ...own }
  const listeners = { main: { type: 'http', port: 0 } }
  const whole = { version: 1, listeners, upstreams: { api: spec }, ...(config as JsonObject) }
  const gateway = closeAfter(t, await testGateway({ directory, config: whole }))
  const client = closeAfter(t, await testClient(gateway))
  return { api, gateway, client, file, config: whole }
}

type Tool = JsonObject & { name: string; inputSchema: JsonObject; annotations: JsonObject }

async function toolsOf(client: TestClient): Promise<Tool[]> {
  const tools: Tool[] = []
  let cursor: unknown
  do {
    const { result } = await client.request('tools/list', cursor === undefined ? {} : { cursor })
    tools.push(...((result?.tools ?? []) as Tool[]))
    cursor = result?.nextCursor
  } while (cursor !== undefined)
  return tools
}

async function call(client: TestClient, name: string, args: JsonObject = {}): Promise<JsonObject> {
  const { result, error } = await client.request('tools/call', { name: `api__${name}`, arguments: args })
  assert.equal(error, undefined, JSON.stringify(error))
  return result as JsonObject
}

function textIn(result: JsonObject): string {
  return String((result.content as { text?: string }[])[0]?.text)
}

/** Calls every tool with arguments of its schema; what the API finds wrong with the requests. */
async function callAll({ api, client }: World): Promise<string[]> {
  const wrong: string[] = []
  for (const { name, inputSchema } of await toolsOf(client)) {
    const before = api.heard.length
    const { result, error } = await client.request('tools/call', {
      name,
      arguments: sampleOf(inputSchema) as JsonObject,
    })
    const heard = api.heard.slice(before)
    if (error !== undefined || result?.isError === true) wrong.push(`${name}: ${JSON.stringify(error ?? result)}`)
    if (heard.length !== 1 || heard[0]?.problems.length !== 0) wrong.push(`${name}: ${JSON.stringify(heard)}`)
  }
  return wrong
}

for (const version of ['2.0', '3.0', '3.1'])
  test(`every operation of the petstore of ${version} is a tool whose calls fit the document`, async t => {
    const world = await worldOf(t, example(version, 'petstore'), {}, version === '3.1' ? 'api.yaml' : 'api.json')
    const tools = await toolsOf(world.client)

    assert.equal(tools.length, 20)
    assert.deepEqual(await callAll(world), [])
  })

for (const [version, name] of [
  ['3.0', 'parameters-common'],
  ['3.0', 'uspto'],
  ['3.0', 'star-trek'],
  ['3.0', 'form-data'],
  ['3.0', 'circular'],
  ['3.1', 'train-travel'],
] as const)
  test(`calls of the tools of ${name} (${version}) fit the document`, async t => {
    const world = await worldOf(t, example(version, name))

    assert.deepEqual(await callAll(world), [])
    assert.notEqual(world.api.heard.length, 0)
  })

test('tools say what they read, what they repeat and what they destroy', async t => {
  const { client } = await worldOf(t, example('3.0', 'petstore'))
  const tools = new Map((await toolsOf(client)).map(tool => [tool.name, tool]))

  assert.deepEqual(tools.get('api__getPetById')?.annotations, {
    title: 'Find pet by ID',
    readOnlyHint: true,
    idempotentHint: true,
    openWorldHint: true,
  })
  assert.equal(tools.get('api__deletePet')?.annotations.destructiveHint, true)
  assert.equal(tools.get('api__updatePet')?.annotations.idempotentHint, true)
  assert.equal(tools.get('api__addPet')?.annotations.idempotentHint, false)
})

test('a body of which one or another property must be there says so', async t => {
  const properties = { kind: { type: 'string' }, id: { type: 'integer' }, owner: { type: 'string' } }
  const oneOf = [{ required: ['id'] }, { required: ['owner'] }]
  const schema = { type: 'object', properties, required: ['kind'], oneOf }
  const requestBody = { required: true, content: { 'application/json': { schema } } }
  const responses = { 200: { description: 'fine' } }
  const paths = { '/items': { post: { operationId: 'add', requestBody, responses } } }
  const world = await worldOf(t, { openapi: '3.0.3', info: { title: 'API', version: '1' }, paths })

  const [tool] = await toolsOf(world.client)
  const { body } = tool?.inputSchema.properties as Record<string, JsonObject>
  assert.deepEqual(body, schema)
  assert.deepEqual(await callAll(world), [])
  assert.deepEqual(JSON.parse(world.api.heard[0]?.request.body ?? ''), sampleOf(body))
})

test('globs of names, of methods and paths, and tags choose the operations', async t => {
  const document = example('3.0', 'petstore')
  const chosen = async (operations: JsonObject): Promise<string[]> => {
    const { client } = await worldOf(t, document, { operations })
    return (await toolsOf(client)).map(({ name }) => name.slice('api__'.length)).sort()
  }

  assert.deepEqual(await chosen({ allow: ['GET /store/*', 'addPet'] }), ['addPet', 'getInventory', 'getOrderById'])
  assert.deepEqual(await chosen({ tags: ['store'], deny: ['DELETE *', 'place*'] }), ['getInventory', 'getOrderById'])
})

test('names are stable, unique, and no longer than clients take', async t => {
  const long = 'very/long '.repeat(20)
  const operation = { responses: {} }
  const { client } = await worldOf(t, {
    openapi: '3.0.0',
    info: { title: 'x', version: '1' },
    paths: {
      '/a': {
        get: { ...operation, operationId: 'same name' },
        post: { ...operation, operationId: 'same_name' },
      },
      '/b': { get: { ...operation, operationId: long }, put: { ...operation, operationId: `${long}!` } },
      '/c/d-e': { patch: operation },
      '/f': { get: { ...operation, operationId: '\u0000\u202e' } },
    },
  })
  const names = (await toolsOf(client)).map(({ name }) => name)

  assert.equal(new Set(names).size, 6)
  assert.ok(
    names.every(name => /^[A-Za-z0-9_-]{1,64}$/.test(name)),
    names.join(' '),
  )
  assert.ok(names.includes('api__patch_c_d-e'))
  assert.ok(names.includes('api__get_f'))
})

test('a document that changes is read anew at a reload, and calls go on', async t => {
  const document = example('3.0', 'petstore')
  const { client, gateway, file, config } = await worldOf(t, document)
  const paths = document.paths as JsonObject
  writeFileSync(file, JSON.stringify({ ...document, paths: { '/pet/{petId}': paths['/pet/{petId}'] } }))
  await gateway.gateway.reload(config)
  await gateway.gateway.settled()

  const names = (await toolsOf(client)).map(({ name }) => name).sort()
  assert.deepEqual(names, ['api__deletePet', 'api__getPetById', 'api__updatePetWithForm'])
})

test('a result fits its output schema, whatever the API leaves out or makes null', async t => {
  const { api, client } = await worldOf(t, example('3.0', 'petstore'))
  const [pets] = (await toolsOf(client)).filter(({ name }) => name === 'api__findPetsByStatus')
  api.reply = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json; charset=utf-8' }).end('[{"id":1,"name":null}]')
    return true
  }
  const result = await call(client, 'findPetsByStatus', { status: ['available'] })

  assert.equal((pets?.outputSchema as JsonObject).type, 'object')
  assert.deepEqual(result.structuredContent, { result: [{ id: 1, name: null }] })
  assert.equal(textIn(result), '[{"id":1,"name":null}]')
})

test('an API that cannot be reached, or whose document is gone, is told apart', async t => {
  const { client, gateway } = await worldOf(t, example('3.0', 'petstore'), { server: 'http://127.0.0.1:1' })
  const { error } = await client.request('tools/call', { name: 'api__getInventory', arguments: {} })
  assert.match(String(error?.message), /unreachable/)

  const other = closeAfter(
    t,
    await testGateway({
      config: { upstreams: { api: { type: 'openapi', document: './is-not-there.json' } } },
    }),
  )
  const { upstreams } = await other.gateway.inspect()
  assert.match(String(upstreams[0]?.problem), /is-not-there\.json is unusable: file not found/)
  assert.equal((await gateway.gateway.inspect()).upstreams[0]?.state, 'ready')
})

test('a document behind a URL is fetched, and a server beside it is called', async t => {
  const document = example('3.0', 'petstore')
  const api = closeAfter(t, await mockApi(document, '/v2'))
  api.reply = ({ path }, response) => {
    if (path !== '/openapi.json') return false
    response.writeHead(200).end(JSON.stringify({ ...document, servers: [{ url: '/v2' }] }))
    return true
  }
  const spec = { type: 'openapi', document: `${api.url}/openapi.json` }
  const gateway = closeAfter(t, await testGateway({ config: { upstreams: { api: spec } } }))
  const client = closeAfter(t, await testClient(gateway))
  await call(client, 'getInventory')

  assert.equal(api.heard.at(-1)?.operation, 'GET /store/inventory')
})
