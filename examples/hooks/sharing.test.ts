import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plugin } from 'tapgate/plugin'
import { closeAfter, testClient, testGateway, testUpstream } from 'tapgate/testing'
import { callsOfADay, sharing } from './sharing.ts'
import { SharedMemory } from '../../test/fixtures/shared-memory.ts'

test('sharedStore: what gateways share holds for all of them, and for one alone there is nothing', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { echo: () => 'x' } }))
  const config = { upstreams: { web: { type: 'http', url: web.url } } }
  const store = new SharedMemory({ now: () => performance.now() }).of()
  const given = (isSharing: boolean): Plugin<never>[] => [
    withOptions(callsOfADay, { calls: 3 }),
    ...(isSharing ? [withOptions(sharing, { store })] : []),
  ]
  const gateways = [
    closeAfter(t, await testGateway({ config, plugins: given(true) })),
    closeAfter(t, await testGateway({ config, plugins: given(true) })),
    closeAfter(t, await testGateway({ config, plugins: given(false) })),
  ]
  const clients = await Promise.all(gateways.map(async ({ url }) => closeAfter(t, await testClient(url))))
  const call = async (index: number): Promise<boolean> =>
    (await clients[index]?.request('tools/call', { name: 'web__echo', arguments: {} }))?.error === undefined

  const first = [await call(0), await call(1), await call(0)]
  const next = [await call(1), await call(0)]
  const alone = [await call(2), await call(2), await call(2), await call(2)]

  assert.deepEqual(first, [true, true, true])
  assert.deepEqual(next, [false, false])
  assert.deepEqual(alone, [true, true, true, false])
})

function withOptions<Options>(plugin: Plugin<Options>, options: Options): Plugin<never> {
  return { ...plugin, setup: api => plugin.setup({ ...api, options }) }
}
