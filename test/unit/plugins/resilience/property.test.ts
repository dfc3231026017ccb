import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { resilience } from '../../../../plugins/resilience/index.ts'
import type { Answer, Call, Dispatch, Upstream } from '../../../../src/api/index.ts'
import { gatewayError } from '../../../../src/errors/errors.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { callOf, exchangeOf, install, resultOf, sessionOf, soon, wrapped } from '../install.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

const SPEC = {
  timeout: 50,
  limits: { queue: 5, queueTimeout: 40 },
  breaker: { failures: 8, open: 10 },
  retry: { attempts: 3, backoff: 4, tools: [] },
}

/** All that comes of a call at the upstream, when it is not cancelled first. */
const REPLIES: Readonly<Record<string, () => Promise<Answer>>> = {
  answers: async () => resultOf({}),
  refuses: async () => ({ error: { code: 1, message: 'no' } }),
  fails: () => Promise.reject(gatewayError('GW_UPSTREAM_DOWN', { upstream: 'web', why: 'x', status: 503 })),
  limits: () =>
    Promise.reject(gatewayError('GW_UPSTREAM_DOWN', { upstream: 'web', why: 'x', status: 429, retryAfterMs: 20 })),
  breaks: () => Promise.reject(gatewayError('GW_UPSTREAM_CLOSED', { upstream: 'web', why: 'x' })),
  hangs: () => new Promise(() => undefined),
}

const SCRIPT = fc.record({
  at: fc.nat(60),
  caller: fc.constantFrom('ann', 'bob', 'cid'),
  method: fc.constantFrom('tools/call', 'resources/read'),
  reply: fc.constantFrom(...Object.keys(REPLIES), 'throws'),
  takes: fc.nat(30),
  /** Time for which a client thinks that is asked once, after `takes`; none is asked at 0. */
  thinks: fc.oneof(fc.constant(0), fc.nat(200)),
  leaves: fc.option(fc.nat(80)),
})
type Script = typeof SCRIPT extends fc.Arbitrary<infer T> ? T : never

/** An upstream that follows a script, and counts. */
class Scripted {
  sent = 0
  most = 0
  #under = 0
  readonly #asked = new Set<Call>()
  readonly #scripts: readonly Script[]
  readonly #clock: HandClock

  constructor(scripts: readonly Script[], clock: HandClock) {
    this.#scripts = scripts
    this.#clock = clock
  }

  readonly dispatch: Dispatch = call => {
    const { reply = '', takes = 0, thinks = 0 } = this.#scripts[Number(call.params?.index)] ?? {}
    this.sent++
    if (reply === 'throws') throw new Error('a bug')
    this.most = Math.max(this.most, ++this.#under)
    const ends = REPLIES[reply] ?? (() => Promise.reject(new Error(reply)))
    const asks = async (): Promise<Answer> => {
      await this.#ask(call)
      return ends()
    }
    return this.#settle(call, takes, thinks === 0 ? ends : asks)
  }

  /** A call whose client is asked does not count, and continues above the limit. */
  async #ask(call: Call): Promise<void> {
    this.#under--
    this.#asked.add(call)
    await call.exchange.ask({ method: 'elicitation/create', params: {} })
  }

  async #settle(call: Call, takes: number, reply: () => Promise<Answer>): Promise<Answer> {
    try {
      return await new Promise<Answer>((resolve, reject) => {
        const disarm = this.#clock.after(takes, () => void reply().then(resolve, reject))
        call.onCancel(() => {
          // Promises take their time, and the count must not.
          if (!this.#asked.has(call)) this.#under--
          disarm()
          resolve({ error: { code: -32603, message: 'cancelled' } })
        })
      })
    } finally {
      if (!(call.exchange.cancelled || this.#asked.has(call) || this.#isGivenUp(call))) this.#under--
    }
  }

  #isGivenUp(call: Call): boolean {
    let isGivenUp = false
    const takeBack = call.onCancel(() => (isGivenUp = true))
    takeBack()
    return isGivenUp
  }
}

async function play(scripts: readonly Script[], concurrency: number): Promise<void> {
  const clock = new HandClock()
  const hooks = await install(resilience, undefined, undefined, clock)
  const upstream = new Scripted(scripts, clock)
  const limits = { ...SPEC.limits, concurrency }
  const dispatch = wrapped(hooks, 'web', upstream.dispatch, { ...SPEC, limits })
  const done: Promise<void>[] = []
  const late: number[] = []
  let ended = 0
  const begin = ({ method, caller, leaves, thinks }: Script, index: number): Promise<void> => {
    const exchange = exchangeOf(method, { index }, sessionOf('tester', caller))
    const now = clock.now()
    Object.assign(exchange, { startedAt: now })
    let asked = 0
    exchange.redirectRequests(() => {
      asked++
      return new Promise(resolve => clock.after(thinks, () => resolve({ result: { action: 'accept' } })))
    })
    const count = (): void => {
      ended++
      // A call that is tried again asks its client again. Its time goes on up to one step of the clock after a reply.
      if (clock.now() - now > SPEC.timeout + asked * (thinks + 1)) late.push(index)
    }
    if (leaves !== null) clock.after(leaves, () => exchange.cancel('gone'))
    return dispatch(callOf('web', method, { index }, exchange)).then(count, count)
  }
  for (let now = 0; now < 350; now++) {
    for (const [index, script] of scripts.entries()) if (script.at === now) done.push(begin(script, index))
    await soon()
    clock.pass(1)
    await soon()
  }
  await Promise.all(done)

  assert.equal(ended, scripts.length)
  assert.deepEqual(late, [])
  assert.ok(concurrency === 0 || upstream.most <= concurrency, `${upstream.most} at once`)
  const bare = { name: 'web' } as Upstream
  const { queue } = hooks.getRunner('status')?.(bare as never, bare) as unknown as { queue: JsonObject }
  assert.deepEqual({ running: queue.running, waiting: queue.waiting }, { running: 0, waiting: 0 })
  assert.equal(clock.armed, 0)
}

test('whatever an upstream and its callers do, each call ends once and in time', async () => {
  const scripts = fc.array(SCRIPT, { minLength: 1, maxLength: 40 })
  await fc.assert(fc.asyncProperty(scripts, fc.nat(3), play), { numRuns: 60 })
})
