import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient, testGateway, testUpstream } from 'tapgate/testing'
import { all, open, run, shortFirst } from './carrying.ts'

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

test('rank: a search hears what the plugin thinks of the order', async t => {
  const tools = {
    mail_letter_to_all_people: { description: 'Send a letter.', run: () => 'sent' },
    mail: { description: 'Letters.', run: () => 'sent' },
  }
  const web = closeAfter(t, await testUpstream({ tools }))
  const config = { surface: { mode: 'search' } }
  const firstFound = async (plugins: (typeof shortFirst)[]): Promise<string | undefined> => {
    const gateway = closeAfter(t, await testGateway({ upstreams: { web }, plugins, config }))
    const client = closeAfter(t, await testClient(gateway))
    const args = { query: 'mail a letter to people' }
    const { result } = await client.request('tools/call', { name: 'search_tools', arguments: args })
    return (result?.content as { text: string }[])[0]?.text.split('(')[0]
  }

  assert.equal(await firstFound([]), 'web__mail_letter_to_all_people')
  assert.equal(await firstFound([shortFirst]), 'web__mail')
})
