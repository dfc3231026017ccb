import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'

const ARGUMENT = { name: 'a', value: '' }
const BOTH = [
  { type: 'ref/prompt', name: 'server__open', uri: 'file:///secret' },
  { type: 'ref/resource', name: 'server__open', uri: 'file:///secret' },
  { name: 'server__open', uri: 'file:///secret' },
  { type: 'ref/other', uri: 'file:///secret' },
  { type: 'ref/prompt', uri: 'file:///secret' },
  { type: 'ref/resource', name: 'server__open' },
]

test('a completion is about what the type of its reference says, and names nothing else', async t => {
  const server = closeAfter(
    t,
    await testUpstream({
      prompts: { open: () => 'x', secret: () => 'x' },
      resources: { 'file:///secret': 's', 'file:///open': 'o' },
      capabilities: { completions: {} },
      methods: { 'completion/complete': () => ({ completion: { values: ['v'] } }) },
    }),
  )
  const routes = [
    { match: { prompt: 'server__secret' }, deny: 'no' },
    { match: { resource: 'file:///secret' }, deny: 'no' },
    { match: { method: 'completion/complete' }, to: 'server' },
  ]
  for (const config of [
    { routes },
    { filters: { prompts: { deny: ['server__secret'] }, resources: { deny: ['file:///secret'] } } },
  ]) {
    const gateway = closeAfter(t, await testGateway({ upstreams: { server }, config }))
    for (const era of ['modern', 'legacy'] as const) {
      const client = closeAfter(t, await testClient(gateway, { era }))
      const complete = (ref: object, more: object = {}) =>
        client.request('completion/complete', { ref, argument: ARGUMENT, ...more })
      for (const ref of BOTH) assert.equal((await complete(ref)).error?.code, -32602, JSON.stringify(ref))
      const denied = [
        await complete({ type: 'ref/resource', uri: 'file:///secret' }, { name: 'server__open', uri: 'file:///open' }),
        await complete({ type: 'ref/prompt', name: 'server__secret' }, { name: 'server__open', uri: 'file:///open' }),
      ]
      assert.deepEqual(
        denied.map(({ error }) => error !== undefined),
        [true, true],
      )
      assert.deepEqual(server.listCalls('completion/complete'), [])
    }
    const client = closeAfter(t, await testClient(gateway))
    const ok = await client.request('completion/complete', {
      ref: { type: 'ref/prompt', name: 'server__open' },
      argument: ARGUMENT,
    })
    assert.deepEqual(ok.result?.completion, { values: ['v'] })
    assert.equal(server.listCalls('completion/complete').length, 1)
    ;(server.calls as unknown[]).length = 0
  }
})
