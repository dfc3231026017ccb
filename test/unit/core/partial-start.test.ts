import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { test, type TestContext } from 'node:test'
import { createKey } from '../../../src/cli/scaffold.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'
import { badServer, script } from '../fixtures/upstream-bench.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { until } from '../../fixtures/until.ts'

/** Two seconds are the goal; a busy machine gets more. */
const SOON_MS = 4000
/** Tries come 0.5 s apart at first, and twice as far each time. */
const RECOVERED_MS = 30_000

/** Takes connections and never says a word. */
async function mute(t: TestContext): Promise<string> {
  const server = createServer(socket => socket.on('error', () => undefined).resume())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  cleanup(t, () => server.close())
  const address = server.address()
  assert.ok(typeof address === 'object' && address !== null)
  return `http://127.0.0.1:${address.port}/mcp`
}

test('of ten servers, four good ones serve at once, the owner is told of the other six by name, and one that recovers comes by itself', async t => {
  const tools = { run: () => 'x' }
  const good = await Promise.all([1, 2, 3].map(async () => closeAfter(t, await testUpstream({ tools }))))
  const down = closeAfter(t, await testUpstream({ tools }))
  await down.stop()
  const url = await mute(t)
  const { key, name, hash } = createKey('owner', [])
  const command = process.execPath
  const upstreams = {
    'good-4': { type: 'stdio', command, args: [script('keeping-server.mjs')] },
    'hung-1': { type: 'http', url },
    'hung-2': { type: 'http', url },
    'hung-3': { type: 'stdio', command, args: badServer('silent').args as string[] },
    'gone-1': { type: 'stdio', command, args: ['-e', 'process.exit(3)'] },
    'gone-2': { type: 'http', url: down.url },
    'bad-tls': { type: 'http', url: url.replace('http:', 'https:') },
  }
  const started = performance.now()
  const gateway = closeAfter(
    t,
    await testGateway({
      settle: false,
      upstreams: { 'good-1': good[0] as never, 'good-2': good[1] as never, 'good-3': good[2] as never },
      config: { upstreams, auth: { keys: [{ name, hash }] } },
    }),
  )
  const authorization = `Bearer ${key}`
  const ready = async (headers: Record<string, string> = {}): Promise<Record<string, unknown>> =>
    (await (await fetch(new URL('/readyz', gateway.url), { headers })).json()) as never
  const unready = async (): Promise<string[]> => {
    const states = (await ready({ authorization })).upstreams as Record<string, { state: string }>
    return Object.entries(states).flatMap(([one, { state }]) => (state === 'ready' ? [] : [one]))
  }

  await until(async () => (await unready()).length <= 6, 'the good ones are ready', SOON_MS)
  const readyMs = performance.now() - started
  const client = closeAfter(t, await testClient(gateway, { headers: { authorization } }))
  const answers = await Promise.all([1, 2, 3].map(n => client.request('tools/call', { name: `good-${n}__run` })))
  const missing = await unready()
  const told = await ready()
  const back = performance.now()
  await down.restart()
  await until(async () => !(await unready()).includes('gone-2'), 'it is back', RECOVERED_MS)
  const recoveredMs = performance.now() - back

  t.diagnostic(`ready after ${readyMs.toFixed(0)} ms, recovered after ${recoveredMs.toFixed(0)} ms`)
  assert.ok(answers.every(({ result }) => result !== undefined))
  assert.deepEqual(missing.sort(), ['bad-tls', 'gone-1', 'gone-2', 'hung-1', 'hung-2', 'hung-3'])
  assert.deepEqual(told, { ready: true })
  const { result } = await client.request('tools/call', { name: 'gone-2__run' })
  assert.ok(result)
})
