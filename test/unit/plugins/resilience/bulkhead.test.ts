import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resilience } from '../../../../plugins/resilience/index.ts'
import type { Answer, Call, Upstream } from '../../../../src/api/index.ts'
import { type GatewayError, gatewayError } from '../../../../src/errors/errors.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { callOf, install, resultOf, soon, wrapped } from '../install.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

const LIMITS = { concurrency: 2, queue: 2, queueTimeout: 0 }
const BREAKER = { failures: 5, open: '30s' }
const RETRY = { attempts: 3, backoff: 100, tools: ['get_*'] }

type Reply = () => Promise<Answer>

async function bulkhead(spec: JsonObject, reply: Reply) {
  const clock = new HandClock()
  const hooks = await install(resilience, undefined, undefined, clock)
  const sent: Call[] = []
  const own = (call: Call): Promise<Answer> => {
    sent.push(call)
    return Promise.race([reply(), new Promise<never>((_resolve, reject) => call.onCancel(() => reject(cancelled())))])
  }
  const dispatch = wrapped(hooks, 'web', own, { timeout: '30s', ...spec })
  const status = (): JsonObject =>
    hooks.getRunner('status')?.({ name: 'web' } as never, { name: 'web' } as Upstream) as never
  const call = (method = 'tools/call', name = 'x'): Call => {
    const made = callOf('web', method, { name })
    ;(made.exchange as { startedAt: number }).startedAt = clock.now()
    return made
  }
  const become = (state: 'ready' | 'failed' | 'starting' | 'stopped'): void =>
    hooks.getRunner('upstreamState')?.('web', state, undefined)
  return { clock, dispatch, sent, status, call, become }
}

function cancelled(): GatewayError {
  return gatewayError('GW_CANCELLED')
}

function down(status?: number, retryAfterMs?: number): GatewayError {
  return gatewayError('GW_UPSTREAM_DOWN', { upstream: 'web', why: 'away', status, retryAfterMs })
}

const hangs: Reply = () => new Promise(() => undefined)

test('calls beyond the limit wait for their turn, and those beyond the queue fail at once with a hint', async () => {
  const ends: (() => void)[] = []
  const answer: Reply = () => new Promise(resolve => ends.push(() => resolve(resultOf({ ok: true }))))
  const { dispatch, sent, call, status } = await bulkhead({ limits: LIMITS }, answer)

  const answers = [1, 2, 3, 4].map(() => dispatch(call()))
  await assert.rejects(dispatch(call()), (error: GatewayError) => {
    assert.equal(error.code, 'GW_UPSTREAM_BUSY')
    assert.equal(typeof error.fields.retryAfterMs, 'number')
    return true
  })
  assert.equal(sent.length, 2)
  assert.deepEqual(status().queue, { running: 2, waiting: 2, asking: 0, concurrency: 2, size: 2, refused: 1 })
  for (let end = 0; end < 4; end++) {
    ends[end]?.()
    await answers[end]
  }

  assert.equal(sent.length, 4)
  assert.deepEqual(status().queue, { running: 0, waiting: 0, asking: 0, concurrency: 2, size: 2, refused: 1 })
})

test('a call that is cancelled in the queue is never sent', async () => {
  const { dispatch, sent, call, status } = await bulkhead({ limits: { ...LIMITS, concurrency: 1 } }, hangs)
  void dispatch(call()).catch(() => undefined)
  const waiting = call()

  const answer = dispatch(waiting)
  ;(waiting.exchange as unknown as { cancel(reason: string): void }).cancel('no longer needed')

  await assert.rejects(answer, { code: 'GW_CANCELLED' })
  assert.equal(sent.length, 1)
  assert.equal((status().queue as JsonObject).waiting, 0)
})

test('the deadline covers the time in the queue', async () => {
  const { dispatch, sent, call, clock } = await bulkhead({ limits: { ...LIMITS, concurrency: 1 } }, hangs)
  const first = dispatch(call())
  clock.pass(20_000)
  const second = dispatch(call())
  clock.pass(10_000)
  await assert.rejects(first, { code: 'GW_TIMEOUT' })
  clock.pass(20_000)

  await assert.rejects(second, { code: 'GW_TIMEOUT' })
  assert.equal(sent.length, 2)
  assert.equal(clock.armed, 0)
})

test('a call that gets no turn in time says so', async () => {
  const limits = { concurrency: 1, queue: 2, queueTimeout: '1s' }
  const { dispatch, call, clock } = await bulkhead({ limits }, hangs)
  void dispatch(call()).catch(() => undefined)

  const answer = dispatch(call())
  clock.pass(1000)

  await assert.rejects(answer, { code: 'GW_UPSTREAM_BUSY', message: /not started within 1000 ms/ })
})

test('an open breaker sends nothing, empties the queue, and is healed when the upstream comes up anew', async () => {
  let reply: Reply = () => Promise.reject(down())
  const { dispatch, sent, call, become, status } = await bulkhead(
    { breaker: BREAKER, limits: { concurrency: 1, queue: 100, queueTimeout: 0 } },
    () => reply(),
  )
  const first = await Promise.allSettled(Array.from({ length: 20 }, () => dispatch(call())))
  assert.equal(sent.length, 5)
  assert.deepEqual(codes(first), [
    ...Array<string>(5).fill('GW_UPSTREAM_DOWN'),
    ...Array<string>(15).fill('GW_UPSTREAM_RESTING'),
  ])

  await assert.rejects(dispatch(call()), (error: GatewayError) => Number(error.fields.retryAfterMs) > 20_000)
  assert.equal(sent.length, 5)
  assert.equal((status().breaker as JsonObject).state, 'open')
  reply = () => Promise.resolve(resultOf({ ok: true }))
  become('ready')
  await dispatch(call())

  assert.equal(sent.length, 6)
})

test('errors that the server chose to answer, refusals of callers and 429 leave the breaker closed', async () => {
  const replies: Reply[] = [
    () => Promise.resolve({ error: { code: -32603, message: 'no' } }),
    () => Promise.reject(down(429)),
    () => Promise.reject(gatewayError('GW_UPSTREAM_AUTH', { upstream: 'web', status: 401 })),
  ]
  for (const reply of replies) {
    const { dispatch, call, status } = await bulkhead({ breaker: BREAKER }, reply)
    for (let time = 0; time < 10; time++) await dispatch(call()).catch(() => undefined)
    assert.equal((status().breaker as JsonObject).state, 'closed')
  }
})

test('a tool that always times out keeps the breaker closed for the others; a server that hangs opens it', async () => {
  const { dispatch, call, clock, status } = await bulkhead({ breaker: BREAKER }, hangs)
  const timeOut = async (method: string, name: string): Promise<unknown> => {
    const answers = Promise.allSettled([dispatch(call(method, name))])
    clock.pass(30_000)
    return codes(await answers)
  }
  for (let time = 0; time < 10; time++) assert.deepEqual(await timeOut('tools/call', 'slow'), ['GW_TIMEOUT'])
  assert.equal((status().breaker as JsonObject).state, 'closed')

  for (const tool of ['a', 'b', 'c', 'd']) await timeOut('tools/call', tool)
  assert.equal((status().breaker as JsonObject).state, 'open')
})

test('reads are tried again, tools only where the operator says so', async () => {
  for (const [method, name, tries] of [
    ['resources/read', 'x', 3],
    ['tools/list', 'x', 3],
    ['tools/call', 'get_x', 3],
    ['tools/call', 'set_x', 1],
    ['logging/setLevel', 'x', 1],
  ] as const) {
    const { dispatch, sent, call, clock } = await bulkhead({ retry: RETRY }, () => Promise.reject(down(503)))
    const answer = dispatch(call(method, name))
    answer.catch(() => undefined)
    for (let step = 0; step < 10; step++) {
      await soon()
      clock.pass(100)
    }
    await assert.rejects(answer, { code: 'GW_UPSTREAM_DOWN' })
    assert.equal(sent.length, tries, `${method} ${name}`)
  }
})

test('a call whose client was told or asked anything is never made again', async () => {
  const { dispatch, sent, call } = await bulkhead({ retry: RETRY }, async () => {
    sent[0]?.exchange.emit({ method: 'notifications/progress', params: {} })
    throw down(503)
  })

  await assert.rejects(dispatch(call('resources/read')), { code: 'GW_UPSTREAM_DOWN' })
  assert.equal(sent.length, 1)
})

test('Retry-After is waited for where there is time, and passed on where there is not', async () => {
  let retryAfterMs = 5000
  const { dispatch, sent, call, clock } = await bulkhead({ retry: RETRY }, () =>
    Promise.reject(down(429, retryAfterMs)),
  )
  const answer = dispatch(call('resources/read'))
  await soon()
  clock.pass(4999)
  await soon()
  assert.equal(sent.length, 1)
  retryAfterMs = 60_000
  clock.pass(1)

  await assert.rejects(answer, (error: GatewayError) => error.fields.retryAfterMs === 60_000)
  assert.equal(sent.length, 2)
})

function codes(settled: readonly PromiseSettledResult<Answer>[]): unknown[] {
  return settled.map(one => (one.status === 'rejected' ? (one.reason as GatewayError).code : 'answered'))
}

test('calls that fail because the server was stopped do not count against it, and those after its next start do', async () => {
  const { dispatch, status, call, become } = await bulkhead({ breaker: BREAKER }, () => Promise.reject(down()))
  const failed = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time++) await assert.rejects(dispatch(call()))
  }
  const state = (): unknown => (status().breaker as JsonObject).state

  become('stopped')
  await failed(6)
  assert.equal(state(), 'closed')

  become('starting')
  become('failed')
  await failed(5)
  assert.equal(state(), 'open')
})
