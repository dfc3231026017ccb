import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plugin } from 'tapgate/plugin'
import { closeAfter, testClient, testGateway, testUpstream, type TestClient } from 'tapgate/testing'
import { shortNames, shortTexts } from './listing.ts'

async function namesOf(client: TestClient): Promise<string[]> {
  const { result } = await client.request('tools/list')
  return (result?.tools as { name: string }[]).map(({ name }) => name)
}

test('listing: one client is shown short names, and calls tools by them', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { search: () => 'found', drop: () => 'gone' } }))
  const options = { client: 'small', longest: 8 }
  const plugin: Plugin<never> = { ...shortNames, setup: api => shortNames.setup({ ...api, options }) }
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, plugins: [plugin] }))
  const small = closeAfter(t, await testClient(gateway, { info: { name: 'small', version: '1' } }))
  const other = closeAfter(t, await testClient(gateway))

  assert.deepEqual(await namesOf(small), ['web__sea', 'web__dro'])
  assert.deepEqual(await namesOf(other), ['web__search', 'web__drop'])

  await small.request('tools/call', { name: 'web__dro' })
  const { error } = await other.request('tools/call', { name: 'web__dro' })

  assert.equal(error?.message, 'Unknown tool: web__dro')
  assert.deepEqual(
    web.listCalls('tools/call').map(({ params }) => params?.name),
    ['drop'],
  )
})

test('choices: a client that says so in its URL is shown short texts', async t => {
  const tools = { search: { description: 'Searches the web. It takes long.', run: () => 'found' } }
  const web = closeAfter(t, await testUpstream({ tools }))
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, plugins: [shortTexts] }))
  const textOf = async (query: string): Promise<unknown> => {
    const client = closeAfter(t, await testClient(gateway.url + query))
    const { result } = await client.request('tools/list')
    return (result?.tools as { description: string }[])[0]?.description
  }

  assert.equal(await textOf('?texts=short'), 'Searches the web')
  assert.equal(await textOf('?other=1'), 'Searches the web. It takes long.')
})
