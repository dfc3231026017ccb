import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plugin } from 'tapgate/plugin'
import { closeAfter, testClient, testGateway, testUpstream } from 'tapgate/testing'
import { asksOwner } from './approving.ts'

test('approval: the call goes on where the owner wants it', async t => {
  const questions: string[] = []
  const ask = async (question: string): Promise<boolean> => questions.push(question) === 1
  const plugin: Plugin<never> = {
    ...asksOwner,
    setup: api => asksOwner.setup({ ...api, options: { ask } }),
  }
  const web = closeAfter(t, await testUpstream({ tools: { drop: () => 'gone' } }))
  const config = { policy: { ask: ['tool.name == "web__drop"'] } }
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, plugins: [plugin], config }))
  const client = closeAfter(t, await testClient(gateway))

  const first = await client.request('tools/call', { name: 'web__drop' })
  const second = await client.request('tools/call', { name: 'web__drop' })

  assert.deepEqual(first.result?.content, [{ type: 'text', text: 'gone' }])
  assert.equal(second.error?.message, 'denied by the owner')
  assert.deepEqual(questions, ['anonymous calls web__drop', 'anonymous calls web__drop'])
  assert.equal(web.listCalls('tools/call').length, 1)
})
