import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resilience } from '../../../../plugins/resilience/index.ts'
import type { Answer } from '../../../../src/api/index.ts'
import { callOf, exchangeOf, install, wrapped } from '../install.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

async function upstreamWithDeadline(
  spec: Record<string, unknown>,
  answer: () => Promise<Answer> = () => new Promise(() => undefined),
) {
  const clock = new HandClock()
  const hooks = await install(resilience, undefined, undefined, clock)
  return { clock, dispatch: wrapped(hooks, 'web', answer, spec) }
}

test('a call that takes too long fails with GW_TIMEOUT and is given up toward the upstream', async () => {
  const { clock, dispatch } = await upstreamWithDeadline({ timeout: '30s' })
  const exchange = exchangeOf('tools/call')
  const call = callOf('web', 'tools/call', { name: 'slow' }, exchange)
  const reasons: string[] = []
  call.onCancel(reason => reasons.push(reason))

  const answer = dispatch(call)
  clock.pass(29_999)
  assert.deepEqual(reasons, [])
  clock.pass(1)

  await assert.rejects(answer, {
    code: 'GW_TIMEOUT',
    message: /"web" timed out: no answer to tools\/call within 30000 ms/,
  })
  assert.deepEqual(reasons, ['no answer within 30000 ms'])
  assert.equal(exchange.cancelled, false)
})

test('a tool may have a time of its own, by its own name', async () => {
  const { clock, dispatch } = await upstreamWithDeadline({
    timeout: '30s',
    tools: { timeout: { slow: '5m', constructor: 1 } },
  })

  const slow = dispatch(callOf('web', 'tools/call', { name: 'slow' }))
  const prompt = dispatch(callOf('web', 'prompts/get', { name: 'slow' }))
  const proto = dispatch(callOf('web', 'tools/call', { name: '__proto__' }))
  clock.pass(30_000)
  await assert.rejects(prompt, { code: 'GW_TIMEOUT' })
  await assert.rejects(proto, { code: 'GW_TIMEOUT' })
  clock.pass(270_000)

  await assert.rejects(slow, /within 300000 ms/)
})

test('progress extends a timeout with idle and total, up to the total', async () => {
  const { clock, dispatch } = await upstreamWithDeadline({ timeout: { idle: '60s', total: '10m' } })
  const exchange = exchangeOf('tools/call')
  const call = callOf('web', 'tools/call', { name: 'slow' }, exchange)
  const reasons: string[] = []
  call.onCancel(reason => reasons.push(reason))

  const answer = dispatch(call)
  for (let minute = 0; minute < 10; minute++) {
    clock.pass(59_000)
    exchange.emit({ method: 'notifications/progress', params: { progressToken: 1, progress: minute } })
  }
  clock.pass(9_999)
  assert.deepEqual(reasons, [])
  clock.pass(1)

  await assert.rejects(answer, {
    code: 'GW_TIMEOUT',
    fields: { upstream: 'web', method: 'tools/call', ms: 600_000 },
  })
  assert.equal(clock.armed, 0)
})

for (const [timeout, method, ms] of [
  [{ idle: '60s', total: '10m' }, 'notifications/message', 60_000],
  ['60s', 'notifications/progress', 60_000],
  [{ idle: 0, total: '5m' }, 'notifications/progress', 300_000],
  [{ idle: '60s', total: '20s' }, 'notifications/progress', 20_000],
] as const)
  test(`${method} does not extend a timeout of ${JSON.stringify(timeout)}`, async () => {
    const { clock, dispatch } = await upstreamWithDeadline({ tools: { timeout: { slow: timeout } } })
    const exchange = exchangeOf('tools/call')

    const answer = dispatch(callOf('web', 'tools/call', { name: 'slow' }, exchange))
    clock.pass(ms - 1)
    exchange.emit({ method, params: {} })
    clock.pass(1)

    await assert.rejects(answer, {
      code: 'GW_TIMEOUT',
      fields: { upstream: 'web', method: 'tools/call', ms },
    })
    assert.equal(clock.armed, 0)
  })

test('without a total a call may take as long as there is progress', async () => {
  const { clock, dispatch } = await upstreamWithDeadline({ timeout: { idle: '60s', total: 0 } })
  const exchange = exchangeOf('tools/call')

  const answer = dispatch(callOf('web', 'tools/call', { name: 'slow' }, exchange))
  for (let minute = 0; minute < 100; minute++) {
    exchange.emit({ method: 'notifications/progress', params: {} })
    clock.pass(59_999)
  }
  clock.pass(1)

  await assert.rejects(answer, { code: 'GW_TIMEOUT' })
})
