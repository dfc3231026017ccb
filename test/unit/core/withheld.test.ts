import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { CatalogEntry } from '../../../src/api/catalog-entry.ts'
import { RPC, type Plugin } from '../../../src/plugin.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'

const REFUSAL = { code: RPC.invalidParams, message: 'withheld', data: { reason: 'test' } }

/** Withholds what is called so at its upstream, and marks the rest. */
function withholding(...names: string[]): Plugin<never> {
  const judged = (entry: CatalogEntry): CatalogEntry =>
    names.includes(entry.original) ? { ...entry, refusal: REFUSAL } : { ...entry, marks: { seen: 'yes' } }
  return {
    name: 'withholding',
    setup: ({ hooks }) => hooks.catalog.tap({ stage: 'trace' }, entries => entries.map(judged)),
  }
}

async function serve(t: TestContext, plugins: readonly Plugin<never>[], config: JsonObject = {}) {
  const web = closeAfter(
    t,
    await testUpstream({
      tools: { good: () => 'good', bad: () => 'bad' },
      prompts: { bad: () => 'bad' },
    }),
  )
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, plugins, config }))
  return { web, gateway, client: closeAfter(t, await testClient(gateway)) }
}

test('what a tap withholds is in no list, and a call of it reads why and reaches no server', async t => {
  const { web, client } = await serve(t, [withholding('bad')])

  const early = await client.request('tools/call', { name: 'web__bad' })
  const { result } = await client.request('tools/list')
  const late = await client.request('tools/call', { name: 'web__bad' })
  const prompt = await client.request('prompts/get', { name: 'web__bad' })
  const good = await client.request('tools/call', { name: 'web__good' })

  assert.deepEqual(
    (result?.tools as JsonObject[]).map(({ name }) => name),
    ['web__good'],
  )
  for (const { error } of [early, late, prompt]) assert.deepEqual(error, REFUSAL)
  assert.equal(good.error, undefined)
  assert.deepEqual(
    web.listCalls('tools/call').map(({ params }) => params?.name),
    ['good'],
  )
})

test('a route of a plugin or a rule leads past nothing that is withheld', async t => {
  const hop: Plugin<never> = {
    name: 'hop',
    setup({ hooks }) {
      hooks.route.tap(({ params }) =>
        params?.name === 'short' ? { to: 'one', upstream: 'web', params: { name: 'bad' } } : undefined,
      )
    },
  }
  const { web, client } = await serve(t, [withholding('bad'), hop])

  const unlisted = await client.request('tools/call', { name: 'short' })
  await client.request('tools/list')
  const listed = await client.request('tools/call', { name: 'short' })

  assert.deepEqual([unlisted.error, listed.error], [REFUSAL, REFUSAL])
  assert.equal(web.listCalls('tools/call').length, 0)
})

test('the name of what is withheld goes to no other server', async t => {
  const first = closeAfter(t, await testUpstream({ tools: { bad: () => 'first' } }))
  const second = closeAfter(t, await testUpstream({ tools: { bad: () => 'second' } }))
  const withheld: Plugin<never> = {
    name: 'withheld',
    setup: ({ hooks }) =>
      hooks.catalog.tap(entries =>
        entries.map(entry => (entry.upstream === 'first' ? { ...entry, refusal: REFUSAL } : entry)),
      ),
  }
  const config = { upstreams: { first: { prefix: '' }, second: { prefix: '' } } }
  const options = { upstreams: { first, second }, plugins: [withheld], config }
  const gateway = closeAfter(t, await testGateway(options))
  const client = closeAfter(t, await testClient(gateway))

  const { result } = await client.request('tools/list')
  const { error } = await client.request('tools/call', { name: 'bad' })

  assert.deepEqual(result?.tools, [])
  assert.deepEqual(error, REFUSAL)
  assert.equal(second.listCalls('tools/call').length, 0)
})

for (const era of ['modern', 'legacy'] as const)
  test(`a tap of instructions decides what a ${era} client is told of each server`, async t => {
    const one = closeAfter(t, await testUpstream({ tools: { a: () => 'a' }, instructions: 'Be kind.' }))
    const two = closeAfter(t, await testUpstream({ tools: { b: () => 'b' }, instructions: 'Be rude.' }))
    const kind: Plugin<never> = {
      name: 'kind',
      setup: ({ hooks }) => hooks.instructions.tap(all => all.filter(({ upstream }) => upstream !== 'two')),
    }
    const gateway = closeAfter(t, await testGateway({ upstreams: { one, two }, plugins: [kind] }))
    const client = closeAfter(t, await testClient(gateway, { era }))

    const greeting = era === 'legacy' ? client.initializeReply : await client.request('server/discover')

    assert.equal(greeting?.result?.instructions, '# one\nBe kind.')
  })
