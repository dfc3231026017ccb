import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Tappable } from '../../../src/hooks/hooks.ts'
import type { Dispatch, Plugin } from '../../../src/plugin.ts'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, TestClock, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'
import { until } from '../../fixtures/until.ts'

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
    assert.equal(one.listCalls('tools/call').length, hook === 'response' ? 1 : 0)
    assert.match(
      JSON.stringify(log),
      new RegExp(`plugin .{0,3}sloth.{0,3} timed out in hook .{0,3}${hook}.{0,3} after 50 ms`),
    )
  })

test('a promise that never settles in "ready" fails the start, and names the plugin', async () => {
  const sloth: Plugin = { name: 'sloth', setup: ({ hooks }) => hooks.ready.tap(() => NEVER) }

  await assert.rejects(testGateway({ plugins: [sloth], config: { hooks: { timeout: '50ms' } } }), {
    code: 'GW_PLUGIN_TIMEOUT',
    fields: { plugin: 'sloth', hook: 'ready', ms: 50 },
  })
})

test('a setup that never settles fails the start after a minute, and names the plugin', async () => {
  const clock = new TestClock()
  let isCalled = (): void => undefined
  const called = new Promise<void>(resolve => (isCalled = resolve))
  const sloth: Plugin = {
    name: 'sloth',
    setup: () => {
      isCalled()
      return NEVER
    },
  }
  const refused = assert.rejects(testGateway({ plugins: [sloth], clock }), {
    code: 'GW_PLUGIN_TIMEOUT',
    fields: { plugin: 'sloth', hook: 'setup', ms: 60_000 },
  })
  await called
  await new Promise(resolve => setImmediate(resolve))
  clock.advance(60_000)

  await refused
})

test('a promise that never settles in "control" fails the command, and names the plugin', async t => {
  const sloth: Plugin = { name: 'sloth', setup: ({ hooks }) => hooks.control.for('sleep').tap(() => NEVER) }
  const { gateway } = closeAfter(t, await testGateway({ plugins: [sloth], config: { hooks: { timeout: '50ms' } } }))

  await assert.rejects(gateway.control('sleep'), { code: 'GW_PLUGIN_TIMEOUT' })
})

test('a request whose plugin makes calls of its own waits for these, and no longer than ten minutes', async t => {
  const clock = new TestClock()
  const one = closeAfter(t, await testUpstream({ tools: { run: () => 'x' } }))
  const asked: (() => void)[] = []
  const caller: Plugin = {
    name: 'caller',
    setup: ({ hooks }) =>
      hooks.request.tap(
        { methods: ['tools/call'], calls: true },
        () => new Promise(resolve => asked.push(() => resolve(undefined))),
      ),
  }
  const { url } = closeAfter(
    t,
    await testGateway({
      upstreams: { one },
      plugins: [caller],
      config: { upstreams: { one: { timeout: 0 } } },
      clock,
    }),
  )
  const client = closeAfter(t, await testClient(url))
  const calls = [1, 2].map(() => client.request('tools/call', { name: 'one__run', arguments: {} }))
  await until(() => asked.length === 2, 'both wait')

  clock.advance(500_000)
  asked[0]?.()
  assert.equal((await Promise.race(calls)).error, undefined)
  clock.advance(100_000)

  const codes = (await Promise.all(calls)).map(({ error }) => (error?.data as JsonObject | undefined)?.code)
  assert.deepEqual(codes.sort(), ['GW_PLUGIN_TIMEOUT', undefined])
})

const HANGING: Readonly<Record<string, (next: Dispatch) => Dispatch>> = {
  'before it calls the upstream': () => () => NEVER,
  'after the upstream has answered': next => call => next(call).then(() => NEVER),
}

for (const [when, wrap] of Object.entries(HANGING))
  for (const stage of ['trace', 'normal'] as const)
    test(`a call whose plugin (${stage}) never settles ${when} fails in the time that its upstream has, and leaves nothing behind`, async t => {
      const one = closeAfter(t, await testUpstream({ tools: { run: () => 'x' } }))
      const sloth: Plugin = {
        name: 'sloth',
        setup: ({ hooks }) =>
          hooks.dispatch.tap({ stage }, next => {
            const hang = wrap(next)
            return call => (call.params?.name === 'run' ? hang(call) : next(call))
          }),
      }
      const { url, log, gateway } = closeAfter(
        t,
        await testGateway({
          plugins: [sloth],
          config: { upstreams: { one: { type: 'http', url: one.url, timeout: '300ms' } } },
        }),
      )
      const client = closeAfter(t, await testClient(url))
      const { error } = await client.request('tools/call', { name: 'one__run', arguments: {} })
      // Within its deadline the server may be blamed first, if the machine is slow.
      assert.match(JSON.stringify(error), stage === 'trace' ? /GW_PLUGIN_TIMEOUT/ : /GW_(PLUGIN_)?TIMEOUT/)
      if (stage === 'trace')
        assert.match(JSON.stringify(log), /plugin .{0,3}sloth.{0,3} timed out in hook .{0,3}dispatch/)
      assert.equal(gateway.generation.graph.running, 0)
      assert.equal((await client.request('tools/list')).error, undefined)
    })
