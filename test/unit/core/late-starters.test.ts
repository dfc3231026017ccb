import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'
import { badServer } from '../fixtures/upstream-bench.ts'
import { until } from '../../fixtures/until.ts'

function names(result: JsonObject | undefined): string[] {
  return (result?.tools as { name: string }[]).map(({ name }) => name)
}

test('the first list has a server that starts later than others, as some clients never list again', async t => {
  const quick = closeAfter(t, await testUpstream({ tools: { quick: () => 'x' } }))
  const slow = badServer('slow-start', '--delay', '700').args as string[]
  const upstreams = { slow: { type: 'stdio', command: process.execPath, args: slow } }
  const gateway = closeAfter(
    t,
    await testGateway({ upstreams: { quick }, settle: false, config: { upstreams, lists: { wait: 100 } } }),
  )
  const client = closeAfter(t, await testClient(gateway, { era: 'legacy' }))

  const { result } = await client.request('tools/list')

  assert.ok(names(result).some(name => name.startsWith('slow__')))
})

test('a client that leaves during a cold start makes the log say nothing of servers that are missing', async () => {
  const slow = badServer('slow-start', '--delay', '1000')
  const config = {
    upstreams: { slow: { type: 'stdio', command: process.execPath, args: slow.args as string[] } },
  }
  const gateway = await testGateway({ settle: false, config })
  const client = await gateway.gateway.connect()
  const listed = client.request('tools/list').catch(() => undefined)
  await until(() => gateway.gateway.upstreams.get('slow')?.status().state === 'starting', 'it starts')

  client.close()
  await gateway.gateway.close()
  await listed

  const missing = gateway.log.filter(({ level }) => level === 'warn' || level === 'error')
  assert.deepEqual(missing, [])
})
