import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { closeAfter, testClient, testGateway, testUpstream, type TestGateway } from '../../../src/testing/index.ts'
import { until } from '../../fixtures/until.ts'
import { parseExposition, valueOf } from './metrics-parser.ts'

const SERVER = fileURLToPath(new URL('../../fixtures/everything.mjs', import.meta.url))

type Count = (side: string, labels?: Record<string, string>) => number | undefined

async function sessionsOf({ url }: TestGateway): Promise<Count> {
  const found = parseExposition(await (await fetch(new URL('/metrics', url))).text())
  return (side, labels = {}) => valueOf(found, `mcp_${side}_session_duration_seconds`, { ...labels, le: '+Inf' })
}

test('metrics time the sessions of clients with initialize, and of no others', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { a: () => 'a' } }))
  const gateway = closeAfter(t, await testGateway({ upstreams: { web }, config: { metrics: {} } }))
  const modern = closeAfter(t, await testClient(gateway))
  await modern.request('tools/call', { name: 'web__a' })
  await modern.close()
  const legacy = closeAfter(t, await testClient(gateway, { era: 'legacy' }))
  await legacy.request('tools/call', { name: 'web__a' })
  assert.equal((await sessionsOf(gateway))('server'), undefined)
  const session = legacy.initializeReply?.headers['mcp-session-id'] ?? assert.fail()
  await fetch(gateway.url, { method: 'DELETE', headers: { 'mcp-session-id': session } })

  await until(async () => (await sessionsOf(gateway))('server') !== undefined)
  const count = await sessionsOf(gateway)
  assert.equal(count('server', { network_transport: 'tcp', mcp_protocol_version: '2025-11-25' }), 1)
  assert.equal(count('server', { error_type: '_OTHER' }), undefined)
})

test('metrics time connections to servers: the lost ones with their error, the stopped ones without', async t => {
  const local = { type: 'stdio', command: process.execPath, args: [SERVER, '--stdio'] }
  const config = { upstreams: { local }, metrics: {} }
  const running = closeAfter(t, await testGateway({ config }))
  const handle = running.gateway.upstreams.get('local')
  process.kill(handle?.status().pid ?? assert.fail(), 'SIGKILL')
  const labels = { tapgate_upstream: 'local', network_transport: 'pipe' }
  const lost = { ...labels, error_type: 'GW_UPSTREAM_CLOSED' }

  await until(async () => (await sessionsOf(running))('client', lost) === 1)
  await handle?.restart()
  await handle?.stop()
  const found = parseExposition(await (await fetch(new URL('/metrics', running.url))).text())
  const all = found.get('mcp_client_session_duration_seconds')?.samples ?? []
  const stopped = all.filter(({ name, labels: { error_type } }) => name.endsWith('_count') && error_type === undefined)
  assert.equal(stopped[0]?.labels.tapgate_upstream, 'local')
  assert.ok((stopped[0]?.value ?? 0) >= 1)
})
