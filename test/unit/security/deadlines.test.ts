import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { closeAfter, TestClock, testClient, testGateway } from '../../../src/testing/index.ts'
import { legacy, modern, peer, result } from '../fixtures/http-peer.ts'
import { ENDLESS, type Handle } from '../fixtures/endless.ts'
import { until } from '../../fixtures/until.ts'

/** Ten minutes, of which the last is counted apart: far more than a test takes, so that a busy machine is not taken for the deadline. */
const EARLY_MS = 540_000
const LAST_MS = 60_000
/** Longer than servers that never come to an end are silent. */
const SAYING_MS = 120
const CALLS = 10
const TOOL = { name: 'x', inputSchema: { type: 'object' } }

async function before(t: TestContext, handle: Handle, era: 'modern' | 'legacy', timeout: unknown = EARLY_MS + LAST_MS) {
  const server = await peer(t, (era === 'modern' ? modern : legacy)(handle))
  const web = { type: 'http', url: server.url, era, timeout, breaker: false }
  // A clock that is moved on looks like a loop that is late.
  const clock = new TestClock()
  const gateway = closeAfter(t, await testGateway({ config: { upstreams: { web }, overload: false }, clock }))
  return { server, clock, client: closeAfter(t, await testClient(gateway)) }
}

describe('the deadline of a call', () => {
  for (const era of ['modern', 'legacy'] as const)
    for (const [name, handle] of Object.entries(ENDLESS))
      it(`holds against ${name}, of a ${era} server`, async t => {
        const { server, clock, client } = await before(
          t,
          (heard, response) => {
            if (heard.message.method === 'tools/call') handle(heard, response)
            else result(response, heard, { tools: [TOOL] })
          },
          era,
        )
        const params = { name: 'web__x', arguments: {}, _meta: { progressToken: 'p' } }
        const codes: unknown[] = []
        const begin = async (): Promise<void> => {
          const { error } = await client.request('tools/call', params)
          codes.push((error?.data as { code?: string } | undefined)?.code)
        }

        for (const count of [1, CALLS]) {
          codes.length = 0
          const sent = server.of('tools/call').length
          const calls = Array.from({ length: count }, begin)
          await until(() => server.of('tools/call').length === sent + count, 'all calls are there')
          clock.advance(EARLY_MS)
          // What the server says meanwhile gives a call no more time.
          await pause(SAYING_MS)
          assert.deepEqual(codes, [])
          clock.advance(LAST_MS)
          await Promise.all(calls)
          assert.deepEqual(codes, Array(count).fill('GW_TIMEOUT'))
        }
      })

  for (const era of ['modern', 'legacy'] as const)
    it(`is extended by progress of a ${era} server up to a total`, async t => {
      const timeout = { idle: LAST_MS, total: 5 * LAST_MS }
      const { server, clock, client } = await before(
        t,
        (heard, response) => {
          if (heard.message.method === 'tools/call') ENDLESS['progress without an end']?.(heard, response)
          else result(response, heard, { tools: [TOOL] })
        },
        era,
        timeout,
      )
      let code: unknown
      const params = { name: 'web__x', arguments: {}, _meta: { progressToken: 'p' } }
      const call = client.request('tools/call', params).then(({ error }) => {
        code = (error?.data as { code?: string } | undefined)?.code
      })
      await until(() => server.of('tools/call').length === 1, 'the call is there')
      for (let passed = 0; passed < timeout.total - LAST_MS; passed += LAST_MS / 2) {
        await pause(SAYING_MS)
        clock.advance(LAST_MS / 2)
        assert.equal(code, undefined)
      }

      clock.advance(LAST_MS)
      await call
      assert.equal(code, 'GW_TIMEOUT')
    })
})

describe('a client that gives a call up', () => {
  for (const era of ['modern', 'legacy'] as const)
    it(`is heard by the ${era} server each time`, async t => {
      const cut: number[] = []
      const server = await peer(
        t,
        (era === 'modern' ? modern : legacy)((heard, response) => {
          if (heard.message.method !== 'tools/call') return result(response, heard, { tools: [TOOL] })
          response.on('close', () => cut.push(performance.now()))
        }),
      )
      const web = { type: 'http', url: server.url, era, breaker: false }
      const gateway = closeAfter(t, await testGateway({ config: { upstreams: { web } } }))
      const client = closeAfter(t, await testClient(gateway))
      const calls = Array.from({ length: CALLS }, () => client.start('tools/call', { name: 'web__x', arguments: {} }))
      await until(() => server.of('tools/call').length === CALLS, 'all calls are there')

      const startedAt = performance.now()
      await Promise.all(calls.map(call => call.cancel()))
      const heard = (): number =>
        era === 'modern'
          ? cut.length
          : server.heard.filter(({ message }) => message.method === 'notifications/cancelled').length
      await until(() => heard() === CALLS, 'the server hears of each')

      t.diagnostic(`${CALLS} of ${CALLS} within ${(performance.now() - startedAt).toFixed(0)} ms`)
      const { upstreams } = (await gateway.gateway.control('ps')) as {
        upstreams: { runtime: { inFlight: number }; queue: { running: number } }[]
      }
      assert.deepEqual([upstreams[0]?.runtime.inFlight, upstreams[0]?.queue.running], [0, 0])
    })
})
