import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient, testGateway, testUpstream } from 'tapgate/testing'
import { tokens } from './building.ts'

test('authorize: every request to a server has its token', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { search: () => 'found' } }))
  const options = { issue: (upstream: string) => Promise.resolve(`token-of-${upstream}`) }
  const plugin = {
    ...tokens,
    setup: (api: Parameters<typeof tokens.setup>[0]) => tokens.setup({ ...api, options }),
  }
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, plugins: [plugin] }))
  const client = closeAfter(t, await testClient(gateway))

  await client.request('tools/call', { name: 'web__search' })

  const sent = new Set(web.calls.map(({ headers }) => headers.authorization))
  assert.deepEqual(sent, new Set(['Bearer token-of-web']))
})
