import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { connectV1 } from '../../../peers/sdk-v1-client.ts'
import { connectV2 } from '../../../peers/sdk-v2-client.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../../src/testing/index.ts'

const LONG = 'synchronize_all_customer_data_across_multiple_regional_systems'
const ROOT_UNION = {
  oneOf: [
    { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  ],
}

interface Tool {
  readonly name: string
  readonly inputSchema: JsonObject
}

async function serve(t: TestContext, config: JsonObject = {}) {
  const web = closeAfter(
    t,
    await testUpstream({
      tools: {
        short: () => 'short',
        [LONG]: () => 'long',
        'dotted.name': () => 'dotted',
        union: { inputSchema: ROOT_UNION, run: args => JSON.stringify(args) },
        hopeless: { inputSchema: { type: 'object', anyOf: [{ type: 'string' }] }, run: () => 'hopeless' },
      },
    }),
  )
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, config }))
  const connect = async (name: string, era: 'legacy' | 'modern' = 'modern') =>
    closeAfter(t, await testClient(gateway, { era, info: { name, version: '1' } }))
  return { web, gateway, connect }
}

async function toolsOf(client: Awaited<ReturnType<typeof testClient>>): Promise<readonly Tool[]> {
  return (await client.request('tools/list')).result?.tools as Tool[]
}

for (const era of ['legacy', 'modern'] as const)
  test(`a ${era} client is shown names and schemas that it takes, and calls what it was shown`, async t => {
    const { web, connect } = await serve(t)
    const client = await connect('claude-code', era)

    const tools = await toolsOf(client)
    const long = tools.find(({ name }) => name.startsWith('web__syn'))
    assert.deepEqual(
      tools.map(({ name }) => name).filter(name => name !== long?.name),
      ['web__short', 'web__dotted_name', 'web__union'],
    )
    assert.ok(`mcp__gateway__${long?.name ?? ''}`.length <= 64, long?.name)
    assert.deepEqual(tools.find(({ name }) => name === 'web__union')?.inputSchema, {
      type: 'object',
      properties: { id: { type: 'string' }, path: { type: 'string' } },
      description: 'Needs id; or path.',
    })

    for (const name of [long?.name, 'web__dotted_name', 'web__hopeless'])
      assert.equal((await client.request('tools/call', { name, arguments: {} })).error, undefined)
    assert.deepEqual(
      web.listCalls('tools/call').map(({ params }) => params?.name),
      [LONG, 'dotted.name', 'hopeless'],
    )
  })

test('a client that takes everything, and one where fit is off, are shown what the server lists', async t => {
  const plain = ['web__short', `web__${LONG}`, 'web__dotted.name', 'web__union', 'web__hopeless']
  const { connect } = await serve(t)
  const off = await serve(t, { fit: false })

  for (const client of [await connect('mcp-inspector'), await off.connect('claude-code')])
    assert.deepEqual(
      (await toolsOf(client)).map(({ name }) => name),
      plain,
    )
})

const SCHEMA_2020 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    address: { $ref: '#/$defs/address' },
    contact: { allOf: [{ type: 'object' }, { $ref: '#/$defs/address' }], unevaluatedProperties: false },
    by: { if: { type: 'string' }, then: { minLength: 1 }, else: { type: 'integer' } },
  },
  allOf: [{ anyOf: [{ required: ['address'] }, { required: ['contact'] }] }],
  additionalProperties: false,
  $defs: { address: { $anchor: 'here', type: 'object', properties: { street: { type: 'string' } } } },
}

test('a client outside the table is shown schemas as the server lists them', async t => {
  const tools = { whole: { inputSchema: SCHEMA_2020, outputSchema: SCHEMA_2020, run: () => 'whole' } }
  const web = closeAfter(t, await testUpstream({ tools }))
  const { url } = closeAfter(t, await testGateway({ upstreams: { web } }))
  const connected = [connectV1({ url }), connectV2({ url }, 'legacy'), connectV2({ url }, 'modern')]

  for (const client of await Promise.all(connected)) {
    cleanup(t, () => client.close())
    const [tool] = (await client.listTools()).tools
    assert.deepEqual([tool?.inputSchema, tool?.outputSchema], [SCHEMA_2020, SCHEMA_2020])
  }
})

test('a client behind a bridge is known by its own name', async t => {
  const { connect } = await serve(t)
  const names = (await toolsOf(await connect('claude-code (via mcp-remote 0.1.9)'))).map(({ name }) => name)

  assert.ok(!names.includes(`web__${LONG}`))
})

test('the configuration says what a client of another name takes', async t => {
  const clients = { 'my-agent*': { like: 'claude-code', longestName: 40, prefix: 'x_' } }
  const { connect } = await serve(t, { fit: { clients } })

  for (const { name } of await toolsOf(await connect('My-Agent/2'))) assert.ok(name.length <= 38, name)
})

test('what is not shown is named in the log once', async t => {
  const { gateway, connect } = await serve(t)
  for (let n = 0; n < 3; n++) await toolsOf(await connect('claude-code'))

  const said = gateway.log.filter(({ message }) => String(message).includes('is hidden from claude-code'))
  assert.equal(said.length, 1)
})

test('the owner reads what a client is shown, and why', async t => {
  const { gateway } = await serve(t)
  const listing = await gateway.gateway.control('listing', { client: 'cursor' })
  const report = await gateway.gateway.control('fit.report', { client: 'cursor' })

  assert.deepEqual(listing.hidden, [{ name: 'web__hopeless', upstream: 'web' }])
  const changes = report.changes as JsonObject[]
  const byName = new Map(changes.map(change => [change.name, change]))
  assert.match(String(byName.get(`web__${LONG}`)?.notes), /the name has 67 characters, and the client allows 59/)
  assert.equal(byName.get('web__dotted.name')?.shown, 'web__dotted_name')
  assert.match(String(byName.get('web__hopeless')?.unfit), /anyOf/)
})

test('a client of the table that is not there is pointed at', async () => {
  await assert.rejects(
    testGateway({ upstreams: {}, config: { fit: { clients: { x: { like: 'claude-cod' } } } } }),
    (error: Error) => /unknown client .+claude-code/s.test(JSON.stringify(error)),
  )
})
