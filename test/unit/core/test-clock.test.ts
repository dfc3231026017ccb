import assert from 'node:assert/strict'
import { test } from 'node:test'
import { definePlugin, type Clock, type Plugin } from '../../../src/plugin.ts'
import { closeAfter, TestClock, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'

test('a test moves the time of limits and plugins on, and the gateway goes on as before', async t => {
  const clock = new TestClock()
  const due: string[] = []
  let seen: Clock | undefined
  const alarm = definePlugin({
    name: 'alarm',
    setup(api) {
      seen = api.clock
      api.clock.after(90_000, () => due.push('second'))
      api.clock.after(30_000, () => due.push('first'))
    },
  })
  const web = closeAfter(t, await testUpstream({ tools: { read: () => 'read' } }))
  const config = { rateLimit: { rules: { calls: { tools: '*', perMinute: 1 } } } }
  const plugins = [alarm as Plugin<never>]
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, config, plugins, clock }))
  const client = closeAfter(t, await testClient(gateway))
  const isDone = async (): Promise<boolean> =>
    (await client.request('tools/call', { name: 'web__read', arguments: {} })).error === undefined

  const before = [await isDone(), await isDone(), due.length]
  const at = clock.now()
  clock.advance(60_000)
  const after = [await isDone(), [...due]]
  clock.advance(60_000)

  assert.deepEqual(before, [true, false, 0])
  assert.deepEqual(after, [true, ['first']])
  assert.deepEqual(due, ['first', 'second'])
  assert.equal(seen, clock)
  assert.ok(clock.now() - at >= 120_000)
})
