import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { Clock, UpstreamConfig } from '../../../../src/api/index.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { ProgressLimit } from '../../../../src/upstreams/connection/incoming-notifications.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'
import { type Heard, event, modern, peer, said, stream } from '../../fixtures/http-peer.ts'
import { bench, clock, httpSpec, script, stdioSpec, textOf, toolCall } from '../../fixtures/upstream-bench.ts'
import type { Said } from './network-upstream.ts'

const COUNT = 100
/** Time stands still, so that all comes within one second however slow the machine is. */
const STILL: Clock = { now: () => 0, after: clock.after }

/** Servers that say `COUNT` times how far a call is, and then answer it. */
type Server = Extract<UpstreamConfig, { readonly era: unknown }>

const SERVERS: Readonly<Record<string, (t: TestContext) => Promise<Server>>> = {
  'legacy stdio': async () => stdioSpec([script('progress-server.mjs'), String(COUNT)], { era: 'legacy' }),
  'modern HTTP': async t => httpSpec((await peer(t, modern(streamed))).url),
}

for (const [name, make] of Object.entries(SERVERS))
  test(`progress of a call is bounded, and the newest is heard before the answer: ${name}`, async t => {
    const { upstream } = await bench(t, await make(t), { clock: STILL })
    await upstream.start()
    const call = toolCall('flood', {}, { progressToken: 'mine' })
    let heard = 0
    const answer = upstream.dispatch(call).finally(() => (heard = call.emitted.length))

    assert.notEqual(textOf(await answer), '')

    const progress = call.emitted.map(({ params }) => params?.progress)
    assert.deepEqual(progress, [...Array.from({ length: 20 }, (_, n) => n + 1), COUNT])
    assert.equal(heard, 21)
    assert.ok(call.emitted.every(({ params }) => params?.progressToken === 'mine'))
    assert.deepEqual(upstream.dropped, { excess_progress: COUNT - 21 })
  })

test('what is held back is passed on when its time has come, though no more follows', () => {
  const time = new HandClock()
  const passed: unknown[] = []
  const limit = new ProgressLimit(
    time,
    ({ progress }) => passed.push(progress),
    () => undefined,
  )
  for (let progress = 1; progress <= 25; progress++) limit.add({ progress })

  time.pass(999)
  assert.equal(passed.at(-1), 20)
  time.pass(1)
  assert.equal(passed.at(-1), 25)
})

function flood({ params }: Said): string[] {
  const { progressToken } = params?._meta as { progressToken: number }
  return Array.from({ length: COUNT }, (_, n) =>
    JSON.stringify({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken, progress: n + 1 },
    }),
  )
}

function streamed({ message }: Heard, response: Parameters<typeof stream>[0]): void {
  const out = stream(response)
  for (const text of flood(message)) out.write(event(JSON.parse(text) as JsonObject))
  out.end(event({ id: message.id ?? 0, result: { resultType: 'complete', ...said('done') } }))
}
