import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient, testGateway, testUpstream } from 'tapgate/testing'
import { all, open, run } from './carrying.ts'

test('unwrap: a call that carries another one becomes that one', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { add: ({ a }) => `got ${String(a)}` } }))
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, plugins: [run] }))
  const client = closeAfter(t, await testClient(gateway))

  const args = { tool: 'web__add', input: { a: 1 } }
  const { result } = await client.request('tools/call', { name: 'run', arguments: args })

  assert.deepEqual(result?.content, [{ type: 'text', text: 'got 1' }])
  assert.equal(web.listCalls('tools/call')[0]?.params?.name, 'add')
})

test('unwrap: a call that carries a request of another method becomes that one', async t => {
  const web = closeAfter(t, await testUpstream({ resources: { 'memo://one': 'one' } }))
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, plugins: [open] }))
  const client = closeAfter(t, await testClient(gateway))

  const { result } = await client.request('tools/call', { name: 'open', arguments: { uri: 'memo://one' } })

  assert.match(JSON.stringify(result?.content), /one/)
  assert.equal(web.listCalls('resources/read')[0]?.params?.uri, 'memo://one')
})

test('callTool: a request calls tools of its caller, and each call is one of its own', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { one: () => 'first', two: () => 'second' } }))
  const config = { filters: { tools: { deny: ['web__two'] } } }
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, plugins: [all], config }))
  const client = closeAfter(t, await testClient(gateway))

  const args = { tools: ['web__one', 'web__two', 'all'] }
  const { result } = await client.request('tools/call', { name: 'all', arguments: args })

  assert.match(JSON.stringify(result?.content), /first.*Unknown tool: web__two.*Unknown tool: all/)
  assert.equal(web.listCalls('tools/call').length, 1)
})
