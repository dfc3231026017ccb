import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plugin, Tappable } from '../../../src/plugin.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'

const NEVER = new Promise<never>(() => undefined)
const HOOKS = ['authenticate', 'session', 'request', 'response'] as const

for (const hook of HOOKS)
  test(`a promise that never settles in "${hook}" is refused in time, and the log names plugin and hook`, async t => {
    const one = closeAfter(t, await testUpstream({ tools: { run: () => 'x' } }))
    const sloth: Plugin = {
      name: 'sloth',
      setup: ({ hooks }) => (hooks[hook] as Tappable<() => Promise<never>>).tap(() => NEVER),
    }
    const { url, log } = closeAfter(
      t,
      await testGateway({ upstreams: { one }, plugins: [sloth], config: { hooks: { timeout: '50ms' } } }),
    )
    const client = closeAfter(t, await testClient(url))
    const { error, status } = await client.request('tools/call', { name: 'one__run', arguments: {} })
    assert.ok(error !== undefined || status >= 500)
    assert.equal(one.received('tools/call').length, hook === 'response' ? 1 : 0)
    assert.match(
      JSON.stringify(log),
      new RegExp(`plugin .{0,3}sloth.{0,3} came to no end in hook .{0,3}${hook}.{0,3} within 50 ms`),
    )
  })

test('a plugin whose promise settles in time is waited for, and the next one still runs', async t => {
  const one = closeAfter(t, await testUpstream({ tools: { run: () => 'x' } }))
  let ran = 0
  const slow: Plugin = {
    name: 'slow',
    setup: ({ hooks }) => {
      hooks.request.tap(async () => void (await new Promise(resolve => setTimeout(resolve, 30))))
      hooks.request.tap(() => void ran++)
    },
  }
  const { url } = closeAfter(t, await testGateway({ upstreams: { one }, plugins: [slow] }))
  const client = closeAfter(t, await testClient(url))
  assert.equal((await client.request('tools/call', { name: 'one__run', arguments: {} })).error, undefined)
  assert.ok(ran > 0)
})
