import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { CallTimes } from '../../../src/api/exchange.ts'
import { type Exchange, type JsonObject, type Plugin } from '../../../src/plugin.ts'
import { definePlugin } from '../../fixtures/define-plugin.ts'
import {
  closeAfter,
  testClient,
  TestClock,
  testGateway,
  testUpstream,
  type TestClient,
  type TestUpstream,
} from '../../../src/testing/index.ts'
import { until } from '../../fixtures/until.ts'

const MINUTE = 60_000

interface Lab {
  readonly web: TestUpstream
  readonly client: TestClient
  readonly clock: TestClock
  /** Times of calls that have ended, in that order. */
  readonly seen: (CallTimes | undefined)[]
  /** Lets the server answer the oldest call that it has. */
  answer(): void
  control(verb: string, params?: JsonObject): Promise<JsonObject>
}

/** A gateway before a server that answers when it is told to, with a plugin that reads how long calls take. */
async function lab(
  t: TestContext,
  config: { readonly web?: JsonObject; readonly more?: JsonObject },
  plugins: readonly Plugin<never>[] = [],
  isTimed = true,
): Promise<Lab> {
  const open: (() => void)[] = []
  const slow = {
    run: () => new Promise(resolve => open.push(() => resolve('done'))),
    annotations: { readOnlyHint: true },
  }
  const web = closeAfter(t, await testUpstream({ tools: { slow } }))
  const clock = new TestClock()
  const seen: (CallTimes | undefined)[] = []
  const witness = definePlugin({
    name: 'witness',
    setup: ({ hooks }) =>
      hooks.settled.tap({ methods: ['tools/call'], timed: isTimed }, ({ times }: Exchange) => void seen.push(times)),
  })
  const upstreams = { web: { type: 'http', url: web.url, timeout: '1h', ...config.web } }
  const gateway = closeAfter(
    t,
    await testGateway({ config: { ...config.more, upstreams }, plugins: [witness, ...plugins], clock }),
  )
  const client = closeAfter(t, await testClient(gateway, { capabilities: { elicitation: { form: {} } } }))
  await client.request('tools/list')
  const control = (verb: string, params?: JsonObject) => gateway.gateway.control(verb, params)
  return { web, client, clock, seen, answer: () => open.shift()?.(), control }
}

function call({ client }: Lab, args: JsonObject = {}): Promise<unknown> {
  return client.request('tools/call', { name: 'web__slow', arguments: args })
}

/** Phases that took a minute or more, in whole minutes: what is not moved on by the test takes far less. */
function minutes(times: CallTimes | undefined): Record<string, number> {
  assert.ok(times)
  const { upstream, client } = times
  const phases = { upstream, client }
  const long = Object.entries(phases).filter(([, ms]) => ms >= MINUTE)
  return Object.fromEntries(long.map(([phase, ms]) => [phase, Math.floor(ms / MINUTE)]))
}

const served = ({ web }: Lab): number => web.listCalls('tools/call').length

test('the wait in the queue is no time of the server', async t => {
  const made = await lab(t, { web: { limits: { concurrency: 1, queueTimeout: '1h' } } })
  const [first, second] = [call(made, { n: 1 }), call(made, { n: 2 })]
  await until(() => served(made) === 1)
  const waiting = async (): Promise<number> => {
    const { upstreams } = (await made.control('ps')) as { upstreams: { queue: { waiting: number } }[] }
    return upstreams[0]?.queue.waiting ?? 0
  }
  while ((await waiting()) < 1) await new Promise(resolve => setTimeout(resolve, 5))
  made.clock.advance(2 * MINUTE)
  made.answer()
  await first
  await until(() => served(made) === 2)
  made.clock.advance(3 * MINUTE)
  made.answer()
  await second

  assert.deepEqual(made.seen.map(minutes), [{ upstream: 2 }, { upstream: 3 }])
  assert.deepEqual(
    made.seen.map(times => times?.tries),
    [1, 1],
  )
})
