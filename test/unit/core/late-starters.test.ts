import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type Server, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import type { JsonObject } from '../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'
import { badServer, script } from '../fixtures/upstream-bench.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { until } from '../../fixtures/until.ts'

/** Long enough for servers that start on a busy machine. */
const LISTS = { grace: '8s', wait: 100 }

/** Takes connections and never says a word. */
async function mute(t: TestContext): Promise<string> {
  const server: Server = createServer(socket => socket.on('error', () => undefined).resume())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  cleanup(t, () => server.close())
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  return `http://127.0.0.1:${address.port}/mcp`
}

function names(result: JsonObject | undefined): string[] {
  return (result?.tools as { name: string }[]).map(({ name }) => name)
}

test('the first list of a fresh gateway has the good servers, and only it waits for those that hang', async t => {
  const good = await Promise.all(
    [1, 2, 3].map(async n => closeAfter(t, await testUpstream({ tools: { [`t${n}`]: () => 'x' } }))),
  )
  const url = await mute(t)
  const upstreams = {
    'hung-1': { type: 'http', url },
    'hung-2': { type: 'http', url },
    'hung-3': { type: 'stdio', command: process.execPath, args: badServer('silent').args as string[] },
    'gone-1': { type: 'stdio', command: process.execPath, args: ['-e', 'process.exit(3)'] },
    'gone-2': { type: 'stdio', command: 'no-such-program' },
    'bad-tls': { type: 'http', url: url.replace('http:', 'https:') },
    four: { type: 'stdio', command: process.execPath, args: [script('keeping-server.mjs')] },
  }
  const gateway = closeAfter(
    t,
    await testGateway({
      settle: false,
      upstreams: { one: good[0] as never, two: good[1] as never, three: good[2] as never },
      config: { upstreams, lists: LISTS },
    }),
  )

  const client = closeAfter(t, await testClient(gateway, { era: 'legacy' }))
  const { result } = await client.request('tools/list')
  const started = performance.now()
  const again = await client.request('tools/list')
  const ms = performance.now() - started

  assert.ok(ms < 4000, `${ms} ms`)
  assert.deepEqual(names(again.result), names(result))
  for (const name of ['one__t1', 'two__t2', 'three__t3', 'four__count'])
    assert.ok(names(result).includes(name))
})

test('the first list has a server that starts later than others, as some clients never list again', async t => {
  const quick = closeAfter(t, await testUpstream({ tools: { quick: () => 'x' } }))
  const slow = badServer('slow-start', '--delay', '2500').args as string[]
  const upstreams = { slow: { type: 'stdio', command: process.execPath, args: slow } }
  const gateway = closeAfter(
    t,
    await testGateway({ upstreams: { quick }, settle: false, config: { upstreams } }),
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
  await client.notified('notifications/tools/list_changed')
  assert.deepEqual(names((await client.request('tools/list')).result).sort(), ['quick__quick', 'slow__slow'])
})

test('while there is nothing else to show, a slow server has its whole grace', async t => {
  const slow = closeAfter(t, await testUpstream({ tools: { slow: () => 'x' } }))
  slow.offer.methods.set('tools/list', async () => {
    await new Promise(resolve => setTimeout(resolve, 600))
    return { tools: [{ name: 'slow', inputSchema: { type: 'object' } }] }
  })
  const config = { lists: { grace: '20s', wait: 100 } }
  const gateway = closeAfter(t, await testGateway({ upstreams: { slow }, config }))
  const client = closeAfter(t, await testClient(gateway))

  assert.deepEqual(names((await client.request('tools/list')).result), ['slow__slow'])
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

test('servers that have listed something else have nothing to show for a first list that is late', async t => {
  const servers = await Promise.all(
    ['one', 'two'].map(async name => {
      const offer = { tools: { [name]: () => 'x' }, prompts: { [name]: () => 'x' } }
      const server = closeAfter(t, await testUpstream(offer))
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

    await client.request('prompts/list')
    assert.notDeepEqual(names((await client.request('tools/list')).result), [])
  }
})

test('a server that hangs on a list costs one list its grace', async t => {
  const good = closeAfter(t, await testUpstream({ tools: { good: () => 'x' } }))
  const slow = closeAfter(t, await testUpstream({ tools: { slow: () => 'x' }, prompts: { slow: () => 'x' } }))
  slow.offer.methods.set('prompts/list', () => new Promise(() => undefined))
  const config = { lists: { grace: '1s', wait: 100 } }
  const gateway = closeAfter(t, await testGateway({ upstreams: { good, slow }, config, settle: false }))
  const client = closeAfter(t, await testClient(gateway, { era: 'legacy' }))

  assert.deepEqual((await client.request('prompts/list')).result?.prompts, [])
})

test('a client that leaves during a cold start makes the log say nothing of servers that are missing', async () => {
  const slow = badServer('slow-start', '--delay', '3000')
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
