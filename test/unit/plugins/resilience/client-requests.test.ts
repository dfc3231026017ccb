import assert from 'node:assert/strict'
import { test } from 'node:test'
import { resilience } from '../../../../plugins/resilience/index.ts'
import type { Answer, AskReply, Upstream } from '../../../../src/api/index.ts'
import type { PipelineExchange } from '../../../../src/core/exchange.ts'
import { gatewayError } from '../../../../src/errors/errors.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { callOf, exchangeOf, install, resultOf, sessionOf, soon, wrapped } from '../install.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

const ELICITATION = { method: 'elicitation/create', params: {} }
const RETRY = { attempts: 3, backoff: 100, tools: ['*'] }

/** One call of which everything is decided by the test: what its server does, and what its client replies. */
class Made {
  readonly exchange: PipelineExchange
  readonly answer: Promise<Answer>
  /** Reasons for which its server was told that nobody wants it any more. */
  readonly reasons: string[] = []
  isSent = false
  reply: (reply: AskReply) => void = () => undefined
  ends: (answer: Answer) => void = () => undefined
  fails: (error: unknown) => void = () => undefined

  constructor(caller: string, now: number, dispatch: (call: ReturnType<typeof callOf>) => Promise<Answer>, name = 'x') {
    this.exchange = exchangeOf('tools/call', { name }, sessionOf('tester', caller))
    Object.assign(this.exchange, { startedAt: now, made: this })
    this.exchange.redirectRequests(() => new Promise(resolve => (this.reply = resolve)))
    const call = callOf('web', 'tools/call', { name }, this.exchange)
    call.onCancel(reason => this.reasons.push(reason))
    this.answer = dispatch(call)
    this.answer.catch(() => undefined)
  }

  ask(): Promise<AskReply> {
    return this.exchange.ask(ELICITATION)
  }
}

/** A server with one turn beside that of a call that does not end. */
async function server(spec: JsonObject, isBusy = true) {
  const clock = new HandClock()
  const hooks = await install(resilience, undefined, undefined, clock)
  const dispatch = wrapped(
    hooks,
    'web',
    ({ exchange }) => {
      const { made } = exchange as unknown as { made: Made }
      made.isSent = true
      return new Promise((resolve, reject) => {
        made.ends = resolve
        made.fails = reject
        exchange.onCancel(() => reject(gatewayError('GW_CANCELLED')))
      })
    },
    {
      timeout: '30s',
      tools: { timeout: { endless: 0 } },
      limits: { concurrency: 2, queue: 4, queueTimeout: 0 },
      ...spec,
    },
  )
  const queue = (): JsonObject => {
    const status = hooks.getRunner('status')?.({ name: 'web' } as never, { name: 'web' } as Upstream)
    const { running, waiting, asking } = (status as unknown as { queue: JsonObject }).queue
    return { running: (running as number) - (isBusy ? 1 : 0), waiting, asking }
  }
  if (isBusy) new Made('nobody', clock.now(), dispatch, 'endless')
  return { clock, queue, call: (caller: string) => new Made(caller, clock.now(), dispatch) }
}

/** The value of a promise that has settled by now, and `undefined` of one that has not. */
async function now<T>(promise: Promise<T>): Promise<T | undefined> {
  return Promise.race([promise, soon().then(() => undefined)])
}

const ACCEPTED = { result: { action: 'accept' } }
const IDLE = { running: 0, waiting: 0, asking: 0 }

test('a call whose client is asked keeps no turn from others', async () => {
  const { call, queue } = await server({})
  const asking = call('ann')
  void asking.ask()
  const others = ['ann', 'bob'].map(call)

  assert.deepEqual(
    others.map(({ isSent }) => isSent),
    [true, false],
  )
  assert.deepEqual(queue(), { running: 1, waiting: 1, asking: 1 })
  others[0]?.ends(resultOf({}))
  await soon()

  assert.equal(others[1]?.isSent, true)
})

test('a call keeps the only turn while its client is asked, and gives it back once', async () => {
  const { call, queue } = await server({ limits: { concurrency: 1, queue: 4, queueTimeout: 0 } }, false)
  const asked = call('ann')
  const reply = asked.ask()
  const next = call('bob')
  assert.equal(next.isSent, false)

  asked.reply(ACCEPTED)
  assert.deepEqual(await now(reply), ACCEPTED)
  void asked.ask()
  asked.ends(resultOf({}))
  await soon()
  assert.equal(next.isSent, true)
  next.ends(resultOf({}))
  await next.answer
  assert.deepEqual(queue(), { running: 0, waiting: 0, asking: 0 })
})

test('a reply goes on to the server even if all turns are taken, and others wait until there is one', async () => {
  const { call, queue } = await server({})
  const asked = call('ann')
  const reply = asked.ask()
  const meanwhile = call('bob')
  const later = call('ann')

  asked.reply(ACCEPTED)
  assert.deepEqual(await now(reply), ACCEPTED)
  assert.deepEqual(queue(), { running: 2, waiting: 1, asking: 0 })
  meanwhile.ends(resultOf({}))
  await soon()
  assert.equal(later.isSent, false)
  asked.ends(resultOf({}))
  await soon()

  assert.equal(later.isSent, true)
  later.ends(resultOf({}))
  await later.answer
  assert.deepEqual(queue(), IDLE)
})

test('while its client thinks, the deadline of a call stands still', async () => {
  const { call, clock } = await server({})
  const asked = call('ann')
  clock.pass(20_000)
  const reply = asked.ask()
  clock.pass(3_600_000)
  asked.reply(ACCEPTED)
  await reply

  clock.pass(9_999)
  assert.deepEqual(asked.reasons, [])
  clock.pass(1)

  await assert.rejects(asked.answer, { code: 'GW_TIMEOUT' })
  assert.equal(clock.armed, 0)
})

for (const [how, end] of [
  ['answers', (made: Made) => made.ends(resultOf({}))],
  ['fails', (made: Made) => made.fails(gatewayError('GW_UPSTREAM_DOWN', { upstream: 'web', status: 503 }))],
  ['is cancelled', (made: Made) => made.exchange.cancel('gone')],
] as const)
  test(`a call that ${how} while its client is asked leaves no turn and no place behind`, async () => {
    const { call, clock, queue } = await server({ retry: RETRY })
    const asked = call('ann')
    void asked.ask()
    const other = call('bob')
    await soon()

    end(asked)
    await asked.answer.catch(() => undefined)
    assert.deepEqual(queue(), { running: 1, waiting: 0, asking: 0 })
    other.ends(resultOf({}))
    await other.answer
    asked.reply(ACCEPTED)
    await soon()

    assert.deepEqual(queue(), IDLE)
    assert.equal(clock.armed, 0)
  })
