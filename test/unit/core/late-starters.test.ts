import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'
import { badServer } from '../fixtures/upstream-bench.ts'
import { until } from '../../fixtures/until.ts'

/** Long enough for servers that start on a busy machine. */
const LISTS = { grace: '8s', wait: 100 }

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

test('a server that lists after its grace keeps nobody waiting, and is announced when it does', async t => {
  const quick = closeAfter(t, await testUpstream({ tools: { quick: () => 'x' } }))
  const slow = closeAfter(t, await testUpstream({ tools: { slow: () => 'x' } }))
  let release = (): void => undefined
  const held = new Promise<void>(resolve => (release = resolve))
  slow.offer.methods.set('tools/list', async () => {
    await held
    return { tools: [{ name: 'slow', inputSchema: { type: 'object' } }] }
  })
  const config = { lists: { ...LISTS, grace: '1s' } }
  const gateway = closeAfter(t, await testGateway({ upstreams: { slow, quick }, config }))
  const client = closeAfter(t, await testClient(gateway, { era: 'legacy' }))
  await client.listen()

  const { result } = await client.request('tools/list')

  assert.deepEqual(names(result), ['quick__quick'])
  release()
  await client.nextNotification('notifications/tools/list_changed')
  assert.deepEqual(names((await client.request('tools/list')).result).sort(), ['quick__quick', 'slow__slow'])
})

test('a server that was spoken to has its whole grace for its first list, as it has nothing to show yet', async t => {
  const servers = await Promise.all(
    ['one', 'two'].map(async name => {
      const server = closeAfter(t, await testUpstream({ tools: { [name]: () => 'x' } }))
      server.offer.methods.set('tools/list', async () => {
        await new Promise(resolve => setTimeout(resolve, 600))
        return { tools: [{ name, inputSchema: { type: 'object' } }] }
      })
      return server
    }),
  )
  for (const used of [servers.slice(1), servers]) {
    const upstreams = Object.fromEntries(used.map((server, index) => [`it${index}`, server]))
    const config = { lists: { grace: '20s', wait: 100 } }
    const gateway = closeAfter(t, await testGateway({ upstreams, config, settle: false }))
    const client = closeAfter(t, await testClient(gateway, { era: 'legacy' }))

    assert.notDeepEqual(names((await client.request('tools/list')).result), [])
  }
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
