import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeKey } from '../../../../src/cli/scaffold/new-key.ts'
import type { JsonObject } from '../../../../src/plugin.ts'
import { TestClock, type Reply } from '../../../../src/testing/index.ts'
import { callOf, connect, retryOf, setting } from './setting.ts'

const YES = { approve: true }
const AT_ONCE = 25

/** Ways in which a call is answered; half of all are changed after they were asked about. */
const WAYS = [
  'approved',
  'changed',
  'twice',
  'changed',
  'by another',
  'changed',
  'declined',
  'changed',
] as const

test(
  'of 500 calls exactly those run that were approved as they are, each once',
  { timeout: 120_000 },
  async t => {
    const alice = makeKey('alice', [])
    const bob = makeKey('bob', [])
    const keys = [
      { name: 'alice', hash: alice.hash },
      { name: 'bob', hash: bob.hash },
    ]
    const clock = new TestClock()
    const more = { config: { auth: { keys } }, clock }
    const { gateway, events, sent } = await setting(t, { ttl: '5m', openPerCaller: 100 }, more)
    const client = await connect(t, gateway)
    const say = (params: JsonObject, key = alice.key): Promise<Reply> =>
      client.request('tools/call', params, { headers: { authorization: `Bearer ${key}` } })
    const approved: number[] = []

    const ways: Record<(typeof WAYS)[number], (call: JsonObject, first: Reply) => Promise<unknown>> = {
      approved: (call, first) => say(retryOf(call, first, YES)),
      twice: (call, first) => Promise.all([1, 2, 3].map(() => say(retryOf(call, first, YES)))),
      changed: async (call, first) => {
        await say(retryOf(callOf(-1), first, YES))
        await say(retryOf(call, first, {}, 'decline'))
      },
      'by another': async (call, first) => {
        await say(retryOf(call, first, YES), bob.key)
        await say(retryOf(call, first, {}, 'decline'))
      },
      declined: (call, first) => say(retryOf(call, first, {}, 'decline')),
    }
    for (let from = 0; from < 450; from += AT_ONCE)
      await Promise.all(
        Array.from({ length: AT_ONCE }, async (_, index) => {
          const way = WAYS[(from + index) % WAYS.length] ?? 'declined'
          const call = callOf(from + index)
          await ways[way](call, await say(call))
          if (way === 'approved' || way === 'twice') approved.push(from + index)
        }),
      )
    const asked = async (from: number): Promise<(readonly [JsonObject, Reply])[]> =>
      Promise.all(
        Array.from({ length: AT_ONCE }, async (_, index) => {
          const call = callOf(from + index)
          return [call, await say(call)] as const
        }),
      )
    const late = await asked(450)
    clock.pass(300_001)
    await Promise.all(late.map(([call, first]) => say(retryOf(call, first, YES))))
    const ruled = await asked(475)
    const { config } = gateway.gateway.generation.loaded
    const ask = [{ for: 'pay__*', when: 'true', name: 'all' }]
    await gateway.gateway.reload({ ...config, policy: { ...config.policy, ask } })
    await Promise.all(ruled.map(([call, first]) => say(retryOf(call, first, YES))))

    const byNumber = (a: number, b: number): number => a - b
    assert.deepEqual((sent() as number[]).sort(byNumber), approved.sort(byNumber))
    assert.equal(approved.length, 113)
    const outcomes = events.filter(({ kind }) => kind === 'permission').map(({ outcome }) => outcome)
    assert.equal(outcomes.length, 500)
    assert.equal(outcomes.filter(outcome => outcome === 'approved').length, approved.length)
  },
)
