// 600 calls to servers that never come to an end with one, each with its error at its deadline. `npm run proof -- deadlines`, about 30 s.
import type { TestContext } from 'node:test'
import { testClient, testGateway } from '../../src/testing/index.ts'
import { ENDLESS, type Handle } from '../unit/fixtures/endless.ts'
import { legacy, modern, peer, result } from '../unit/fixtures/http-peer.ts'

const TIMEOUT_MS = 1000
const SLACK_MS = 250
const CALLS = 50
const AT_ONCE = 10
const TOOL = { name: 'x', inputSchema: { type: 'object' } }

const cleanups: (() => unknown)[] = []
const context = { after: (cleanup: () => unknown) => void cleanups.push(cleanup) } as unknown as TestContext

let isFine = true
for (const [name, handle] of Object.entries(ENDLESS))
  for (const era of ['modern', 'legacy'] as const) {
    const times = (await timesOf(handle, era)).sort((a, b) => a - b)
    const [least = 0, most = Infinity] = [times[0], times.at(-1)]
    const inTime = times.filter(ms => Math.abs(ms - TIMEOUT_MS) <= SLACK_MS).length
    console.log(
      `${name.padEnd(32)} ${era.padEnd(7)} ${inTime} of ${CALLS} at ${TIMEOUT_MS} ± ${SLACK_MS} ms (${least.toFixed(0)} to ${most.toFixed(0)})`,
    )
    isFine &&= inTime === CALLS
  }
for (const cleanup of cleanups) await cleanup()
console.log(isFine ? 'all as it should be' : 'NOT as it should be')
process.exit(isFine ? 0 : 1)

async function timesOf(handle: Handle, era: 'modern' | 'legacy'): Promise<number[]> {
  const server = await peer(
    context,
    (era === 'modern' ? modern : legacy)((heard, response) => {
      if (heard.message.method === 'tools/call') handle(heard, response)
      else result(response, heard, { tools: [TOOL] })
    }),
  )
  const web = { type: 'http', url: server.url, era, timeout: TIMEOUT_MS, breaker: false }
  const gateway = await testGateway({ config: { upstreams: { web } } })
  const client = await testClient(gateway)
  const params = { name: 'web__x', arguments: {}, _meta: { progressToken: 'p' } }
  await client.request('tools/call', params)
  const times: number[] = []
  const notifier = async (): Promise<void> => {
    for (let call = 0; call < CALLS / AT_ONCE; call++) {
      const from = performance.now()
      const { error } = await client.request('tools/call', params)
      const isTimeout = (error?.data as { code?: string } | undefined)?.code === 'GW_TIMEOUT'
      times.push(isTimeout ? performance.now() - from : Infinity)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, notifier))
  await client[Symbol.asyncDispose]()
  await gateway[Symbol.asyncDispose]()
  return times
}
