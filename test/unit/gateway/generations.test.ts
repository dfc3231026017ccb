import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plugin } from '../../../src/plugin.ts'
import { createGateway } from '../../../src/index.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'

test('a tap on notifications that throws is logged, and the gateway goes on', async t => {
  const upstream = closeAfter(t, await testUpstream({ tools: { echo: () => 'hi' } }))
  const throwing: Plugin<never> = {
    name: 'throwing',
    setup({ hooks }) {
      hooks.notification.tap(() => {
        throw new Error('boom')
      })
    },
  }
  const gateway = closeAfter(t, await testGateway({ upstreams: { a: upstream }, plugins: [throwing] }))

  gateway.gateway.generation.graph.notifier.notifyUpstream('a', {
    method: 'notifications/tools/list_changed',
    params: {},
  })
  const client = closeAfter(t, await testClient(gateway))
  const { result } = await client.request('tools/call', { name: 'a__echo' })

  assert.ok(result)
  assert.ok(gateway.log.some(line => line.plugin === 'throwing' && line.code === 'GW_PLUGIN_FAILED'))
})

test('reloads run one after the other, and none survives a close', async t => {
  const upstream = closeAfter(t, await testUpstream({ tools: { echo: () => 'hi' } }))
  const config = (pageSize: number): object => ({
    lists: { pageSize },
    upstreams: { a: { type: 'http', url: upstream.url } },
  })
  const gateway = await createGateway({ ...config(1) })
  await gateway.start()

  const reloads = [gateway.reload({ ...config(2) }), gateway.reload({ ...config(3) })]
  const [settled] = await Promise.all([Promise.allSettled(reloads), gateway.close()])

  assert.ok(settled.every(({ status }) => status === 'rejected'))
  await assert.rejects(gateway.reload({ ...config(4) }), { code: 'GW_STOPPING' })
})

test('a gateway that cannot listen leaves nothing running', async t => {
  const first = closeAfter(t, await testGateway({}))
  const port = Number(new URL(first.url).port)
  const second = await createGateway({ listeners: { main: { type: 'http', port } } })
  await assert.rejects(second.start(), { code: 'GW_LISTEN' })
  await assert.rejects(second.reload({}), { code: 'GW_STOPPING' })
})
