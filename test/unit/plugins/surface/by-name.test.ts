import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../../src/plugin.ts'
import { closeAfter, testClient, testGateway, type TestTool, testUpstream } from '../../../../src/testing/index.ts'

const IS_WRONG = { content: [{ type: 'text', text: 'to is required' }], isError: true }

async function serve(t: TestContext, config: JsonObject, tools: Readonly<Record<string, TestTool>>) {
  const web = closeAfter(t, await testUpstream({ tools }))
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, config }))
  return async (era: 'legacy' | 'modern', path = '') =>
    closeAfter(t, await testClient(gateway.url + path, { era, info: { name: 'cursor', version: '1' } }))
}

for (const era of ['legacy', 'modern'] as const)
  test(`a ${era} client that calls by name has the schema in an error about arguments`, async t => {
    const long = 'synchronize_all_customer_data_across_multiple_regional_systems_again'
    const inputSchema = { type: 'object', properties: { to: { type: 'string', description: 'By whom' } } }
    const huge = Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`property_${at}`, { type: 'string' }]))
    const tools = {
      send: { inputSchema, run: () => IS_WRONG },
      [long]: { inputSchema, run: () => IS_WRONG },
      shown: { inputSchema, run: () => IS_WRONG },
      huge: { inputSchema: { type: 'object', properties: huge }, run: () => IS_WRONG },
      full: { inputSchema, run: () => ({ ...IS_WRONG, content: [{ type: 'text', text: 'disk full' }] }) },
    }
    const config = {
      surface: { mode: 'search', budget: 2000, pinned: ['web__shown'] },
      profiles: { compact: { surface: { mode: 'compact' } }, full: { surface: { mode: 'full' } } },
    }
    const connect = await serve(t, config, tools)
    const blocks = async (path: string, name: string): Promise<string[]> => {
      const client = await connect(era, path)
      await client.request('tools/list')
      const { result } = await client.request('tools/call', { name: `web__${name}`, arguments: {} })
      assert.equal(result?.isError, true)
      return (result?.content as { text: string }[]).map(({ text }) => text)
    }

    for (const path of ['', '/compact']) {
      const [said, schema, ...more] = await blocks(path, 'send')
      assert.equal(said, 'to is required')
      assert.match(schema ?? '', /^Arguments of web__send: .*"By whom"/)
      assert.deepEqual(more, [])
      // By the server's own name, and told by the one that this client is shown.
      assert.match((await blocks(path, long))[1] ?? '', /^Arguments of web__syn_all_\w{1,50}: .*"By whom"/)
      assert.deepEqual(await blocks(path, 'full'), ['disk full'])
      assert.deepEqual(await blocks(path, 'huge'), ['to is required'])
    }
    assert.deepEqual(await blocks('', 'shown'), ['to is required'])
    assert.deepEqual(await blocks('/full', 'send'), ['to is required'])
  })

for (const era of ['legacy', 'modern'] as const)
  test(`a ${era} client has the schema in a protocol error about arguments, and in no other`, async t => {
    const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] }
    const fails = (code: number): TestTool => ({
      inputSchema: schema,
      run: () => ({ code, message: 'no' }),
    })
    const connect = await serve(t, { surface: { mode: 'search' } }, { wrong: fails(-32602), broken: fails(-32603) })
    const client = await connect(era)
    const wrong = await client.request('tools/call', { name: 'web__wrong', arguments: {} })
    assert.equal(wrong.error?.code, -32602)
    assert.match(wrong.error.message, /^no\nArguments of web__wrong: \{.*"required":\["n"\]/)
    const broken = await client.request('tools/call', { name: 'web__broken', arguments: {} })
    assert.equal(broken.error?.message, 'no')
    // Nobody has such a tool, so there is nothing to tell.
    const unknown = await client.request('tools/call', { name: 'web__wrongs', arguments: {} })
    assert.doesNotMatch(unknown.error?.message ?? '', /Arguments of/)
  })
