import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { closeAfter, testClient, testGateway, testUpstream } from '../../src/testing/index.ts'
import { LAUNCHER } from '../peers/gateway.ts'
import { directory } from './cli/run.ts'

/** A gateway as it is published, which a client starts and speaks to over a pipe. */
test('clients of both eras run scripts in a built gateway on a pipe', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { say: ({ text }) => `said ${String(text)}` } }))
  const config = {
    version: 1,
    listeners: { main: { type: 'stdio' } },
    upstreams: { web: { type: 'http', url: web.url } },
    surface: { mode: 'code' },
  }
  const cwd = await directory(t, { 'gateway.yaml': JSON.stringify(config) })
  const args = [LAUNCHER, 'serve', '--config', join(cwd, 'gateway.yaml')]
  const upstreams = { own: { type: 'stdio', command: process.execPath, args, prefix: '' } }
  // A client with the name of the inner gateway would get its full list.
  const gateway = closeAfter(t, await testGateway({ config: { upstreams, server: { name: 'outer' } } }))
  for (const era of ['legacy', 'modern'] as const) {
    const client = closeAfter(t, await testClient(gateway, { era }))
    const { result } = await client.request('tools/list')
    const names = (result?.tools as { name: string }[]).map(({ name }) => name)
    assert.deepEqual(names, ['search_tools', 'describe_tools', 'run_code'])
    const code = 'return [await tools.web__say({ text: 1 }), await call("web__say", { text: 2 })]'
    const ran = await client.request('tools/call', { name: 'run_code', arguments: { code } })
    assert.deepEqual(ran.result?.content, [{ type: 'text', text: '["said 1","said 2"]' }])
  }
})
