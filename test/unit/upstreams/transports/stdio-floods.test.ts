import assert from 'node:assert/strict'
import { setTimeout as passed } from 'node:timers/promises'
import { type TestContext, test } from 'node:test'
import { HandClock } from '../../fixtures/hand-clock.ts'
import { type Bench, bench, script, stdioSpec, textOf, toolCall } from '../../fixtures/upstream-bench.ts'
import { until } from '../../../fixtures/until.ts'

const KIB = 1024
const MESSAGE = 4 * KIB
/** 16 MiB of messages, and some. */
const MANY = 10_000

test('a server that writes tens of megabytes of progress that nobody gets waits with it; its answer and the newest arrive', async t => {
  const clock = new HandClock()
  const { upstream, logs } = await flooding(t, MANY, clock)
  const call = toolCall('flood', {}, { progressToken: 'mine' })
  let isAnswered = false
  const answer = upstream.dispatch(call).finally(() => (isAnswered = true))

  const read = await standingStill(() => upstream.dropped?.excess_progress ?? 0)

  assert.equal(isAnswered, false)
  assert.ok(read * MESSAGE > 15 * KIB * KIB && read * MESSAGE < 17 * KIB * KIB, `${read} messages were read`)
  const slowed = logs.filter(({ message }) => message === 'a server is read more slowly')
  assert.deepEqual(
    slowed.map(({ level }) => level),
    ['warn'],
  )
  assert.match(String(slowed[0]?.fields.why), /nobody is given/)

  await until(() => {
    clock.pass(20)
    return isAnswered
  }, 'it is answered')
  assert.equal(textOf(await answer), 'done')
  assert.equal(call.emitted.at(-1)?.params?.progress, MANY)
  assert.equal(call.emitted.length + (upstream.dropped?.excess_progress ?? 0), MANY)
})

test('some megabytes of progress at once wait for nothing', async t => {
  const { upstream } = await flooding(t, 3000, new HandClock())
  const call = toolCall('flood', {}, { progressToken: 'mine' })

  assert.equal(textOf(await upstream.dispatch(call)), 'done')
  assert.equal(call.emitted.at(-1)?.params?.progress, 3000)
})

/** A server that says `count` times, in 4 KiB, how far its call is. */
async function flooding(t: TestContext, count: number, clock: HandClock): Promise<Bench> {
  const args = [script('progress-server.mjs'), String(count), 'legacy', String(MESSAGE)]
  const made = await bench(t, stdioSpec(args, { era: 'legacy' }), { clock })
  await made.upstream.start()
  return made
}

/** A figure that was the same for half a second, and no longer 0. */
async function standingStill(figure: () => number): Promise<number> {
  let [last, since] = [0, performance.now()]
  while (last === 0 || performance.now() - since < 500) {
    await passed(20)
    if (figure() !== last) [last, since] = [figure(), performance.now()]
  }
  return last
}
