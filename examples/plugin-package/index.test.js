// #region budget
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient, testGateway, testUpstream } from 'tapgate/testing'
import budget from './index.js'

test('the call after the last one is refused, with the code of the plugin', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { search: () => 'found' } }))
  const plugins = { budget: { use: './index.js', options: { calls: 1 } } }
  const directory = import.meta.dirname
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, config: { plugins }, directory }))
  const client = closeAfter(t, await testClient(gateway))

  await client.request('tools/call', { name: 'web__search' })
  const { error } = await client.request('tools/call', { name: 'web__search' })

  assert.equal(error.code, -31001)
  assert.equal(error.data.code, 'BUDGET_SPENT')
  assert.equal(web.listCalls('tools/call').length, 1)
})
// #endregion budget

test('a free tool of no server is found', () => {
  const found = []
  const own = { options: { calls: 1, free: ['wbe__search'] }, pointer: '/plugins/budget/options' }

  budget.check({ upstreams: { web: {} } }, finding => found.push(finding), own)

  assert.deepEqual(found[0].pointer, '/plugins/budget/options/free/0')
  assert.equal(found[0].hint, 'did you mean "web"?')
})
