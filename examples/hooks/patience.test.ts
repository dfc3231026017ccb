import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plugin } from 'tapgate/plugin'
import { closeAfter, testClient, testGateway, testUpstream } from 'tapgate/testing'
import { inBackground, ownClients } from './patience.ts'

test('patience: a slow call is answered in time, and its result is there later', async t => {
  let end: ((text: string) => void) | undefined
  const slow = () => new Promise<string>(resolve => (end = resolve))
  const web = closeAfter(t, await testUpstream({ tools: { slow } }))
  const plugin: Plugin<never> = {
    ...inBackground,
    setup: api => inBackground.setup({ ...api, options: { ms: 20 } }),
  }
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, plugins: [plugin] }))
  const client = closeAfter(t, await testClient(gateway))

  const first = await client.request('tools/call', { name: 'web__slow' })
  end?.('found')
  let second = first
  while (JSON.stringify(second.result).includes('still running'))
    second = await client.request('tools/call', { name: 'web__slow' })

  assert.match(JSON.stringify(first.result), /still running/)
  assert.match(JSON.stringify(second.result), /found/)
})

test('client: what a plugin knows of a client counts where the configuration leaves it to that', async t => {
  let end: ((text: string) => void) | undefined
  const slow = () => new Promise<string>(resolve => (end = resolve))
  const web = closeAfter(t, await testUpstream({ tools: { slow } }))
  const config = { shape: { patience: 'client' } }
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, plugins: [ownClients], config }))
  const client = closeAfter(t, await testClient(gateway, { info: { name: 'our-agent', version: '1' } }))

  const { result } = await client.request('tools/call', { name: 'web__slow' })
  end?.('found')

  assert.match(JSON.stringify(result), /is still running/)
})
