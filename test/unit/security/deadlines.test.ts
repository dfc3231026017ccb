import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import { closeAfter, testClient, testGateway, type TestClient } from '../../../src/testing/index.ts'
import { legacy, modern, peer, result } from '../fixtures/http-peer.ts'
import { ENDLESS, type Handle } from '../fixtures/endless.ts'
import { until } from '../../fixtures/until.ts'

const TIMEOUT_MS = 500
/** All that a timer and a busy machine may add to a deadline, as many calls share one process with their server here. */
const SLACK_MS = 250
const CALLS = 10
const TOOL = { name: 'x', inputSchema: { type: 'object' } }

async function before(t: TestContext, handle: Handle, era: 'modern' | 'legacy'): Promise<TestClient> {
  const server = await peer(t, (era === 'modern' ? modern : legacy)(handle))
  const web = { type: 'http', url: server.url, era, timeout: TIMEOUT_MS, breaker: false }
  return closeAfter(t, await testClient(closeAfter(t, await testGateway({ config: { upstreams: { web } } }))))
}

describe('the deadline of a call', () => {
  for (const era of ['modern', 'legacy'] as const)
    for (const [name, handle] of Object.entries(ENDLESS))
      it(`holds against ${name}, of a ${era} server`, async t => {
        const client = await before(
          t,
          (heard, response) => {
            if (heard.message.method === 'tools/call') handle(heard, response)
            else result(response, heard, { tools: [TOOL] })
          },
          era,
        )
        const params = { name: 'web__x', arguments: {}, _meta: { progressToken: 'p' } }
        await client.request('tools/call', params)

        const times = await Promise.all(
          Array.from({ length: CALLS }, async () => {
            const startedAt = performance.now()
            const { error } = await client.request('tools/call', params)
            assert.equal((error?.data as { code?: string } | undefined)?.code, 'GW_TIMEOUT')
            return performance.now() - startedAt
          }),
        )

        const [least, most] = [Math.min(...times), Math.max(...times)]
        t.diagnostic(`${least.toFixed(0)} to ${most.toFixed(0)} ms of ${TIMEOUT_MS} ± ${SLACK_MS}`)
        assert.ok(least >= TIMEOUT_MS - SLACK_MS, `${least} ms`)
        // Client, gateway and server share one process here, and maybe a busy machine.
        assert.ok(most <= TIMEOUT_MS + 4 * SLACK_MS, `${most} ms`)
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
      const calls = Array.from({ length: CALLS }, () =>
        client.start('tools/call', { name: 'web__x', arguments: {} }),
      )
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
