import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { test, type TestContext } from 'node:test'
import { setImmediate as soon } from 'node:timers/promises'
import { closeAfter, testClient, TestClock, testGateway, testUpstream } from '../../../../src/testing/index.ts'
import { until } from '../../../fixtures/until.ts'
import { listenOn } from '../../../fixtures/listen.ts'

/** A server that accepts requests and never answers. */
async function silentServer(t: TestContext): Promise<{ readonly type: 'http'; readonly url: string }> {
  const port = await listenOn(
    t,
    createServer(() => undefined),
  )
  return { type: 'http', url: `http://127.0.0.1:${port}/mcp` }
}

test('a server that never answered initialize is a finding from its first deadline on, also while it starts again', async t => {
  const clock = new TestClock()
  const silent = { ...(await silentServer(t)), era: 'legacy', startupTimeout: '20s' }
  const config = { upstreams: { silent }, overload: false }
  const { gateway } = closeAfter(t, await testGateway({ config, clock, settle: false }))
  const state = (): string | undefined => gateway.upstreams.get('silent')?.status().state
  const codes = (): string[] => gateway.health.findings.map(({ code }) => code)
  await until(() => state() === 'starting', 'it starts')
  assert.deepEqual(codes(), [])

  while (state() !== 'failed') {
    clock.advance(1000)
    await soon()
  }
  assert.deepEqual(codes(), ['upstream-failed'])
  while (state() !== 'starting') {
    clock.advance(1000)
    await soon()
  }

  assert.deepEqual(codes(), ['upstream-failed'])
})

test('one line names all servers that were left out of a list as they were starting', async t => {
  const clock = new TestClock()
  const web = closeAfter(t, await testUpstream({ tools: { run: () => 'ran' } }))
  const late = { ...(await silentServer(t)), era: 'legacy', startupTimeout: '1h' }
  const config = { upstreams: { a: late, b: late, c: late }, overload: false }
  const gateway = closeAfter(t, await testGateway({ config, upstreams: { web }, clock, settle: false }))
  const client = closeAfter(t, await testClient(gateway))
  let tools: unknown
  void client.request('tools/list').then(({ result }) => (tools = result?.tools))
  while (tools === undefined) {
    clock.advance(1000)
    await soon()
  }

  await client.request('tools/list')
  const warnings = gateway.log.filter(({ message }) => String(message).includes('missing from the lists'))
  assert.deepEqual(
    warnings.map(({ upstreams }) => upstreams),
    [['a', 'b', 'c']],
  )
})
