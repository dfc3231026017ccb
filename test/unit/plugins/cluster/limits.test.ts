import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/plugin.ts'
import { closeAfter, testClient, type TestClient } from '../../../../src/testing/index.ts'
import { skip } from '../../../fixtures/redis.ts'
import { replicas, statusOf, until } from './setting.ts'

async function call(client: TestClient | undefined): Promise<string> {
  const reply = await client?.request('tools/call', { name: 'web__echo', arguments: {} })
  return String((reply?.error?.data as JsonObject | undefined)?.code ?? 'ok')
}

function ok(codes: readonly string[]): number {
  return codes.filter(code => code === 'ok').length
}

test('three replicas let through what one would, with a fraction of the questions', { skip }, async t => {
  const rateLimit = { rules: { all: { per: [], tools: '*', perMinute: 300 } } }
  const { gateways, redis } = await replicas(t, 3, { rateLimit, metrics: {} })
  const clients = await Promise.all(gateways.map(async ({ url }) => closeAfter(t, await testClient(url))))
  const before = await evals(redis)

  const codes: string[] = []
  for (let round = 0; round < 40; round++)
    codes.push(...(await Promise.all(clients.flatMap(client => [1, 2, 3, 4].map(() => call(client))))))

  // On a machine with much else to do the store may be late, and then some are let in without it, and told to it.
  const alone = await letInAlone(gateways)
  t.diagnostic(`${alone} let in while the store was late`)
  // Of 300 a replica may have a batch of 30 that it does not use.
  assert.ok(ok(codes) <= 300 + alone && ok(codes) >= 240, `${ok(codes)} of 300, ${alone} alone`)
  assert.ok((await evals(redis)) - before < 200, 'questions for 480 calls')
})

/** Calls that these let in while nobody could be asked. */
async function letInAlone(gateways: readonly { readonly url: string }[]): Promise<number> {
  const texts = await Promise.all(
    gateways.map(async ({ url }) => (await fetch(new URL('/metrics', url))).text()),
  )
  return texts.reduce((sum, text) => sum + Number(/^\w*limits_alone\w* (\d+)$/m.exec(text)?.[1]), 0)
}

async function evals(redis: Awaited<ReturnType<typeof replicas>>['redis']): Promise<number> {
  return (await redis.counts()).hgetall ?? 0
}

test('calls that no rule is about ask Redis nothing', { skip }, async t => {
  const rateLimit = { rules: { guests: { principals: 'guest-*', perMinute: 300, perDay: 1000 } } }
  const { gateways, redis } = await replicas(t, 2, { rateLimit })
  const clients = await Promise.all(gateways.map(async ({ url }) => closeAfter(t, await testClient(url))))
  for (const client of clients) await call(client)
  const count = async (): Promise<number> => {
    // Leases are counted apart: they are renewed with or without calls.
    const { hgetall = 0, incrby = 0, get = 0, publish = 0 } = await redis.counts()
    return hgetall + incrby + get + publish
  }
  const before = await count()

  for (let turn = 0; turn < 30; turn++) for (const client of clients) assert.equal(await call(client), 'ok')

  assert.equal(await count(), before)
})

test(
  'with Redis away each replica allows its part, a day is closed, and afterwards both are as before',
  { skip },
  async t => {
    const rules = { minute: { per: [], tools: '*', perMinute: 20 } }
    const { gateways, redis } = await replicas(t, 2, { rateLimit: { rules } })
    const clients = await Promise.all(gateways.map(async ({ url }) => closeAfter(t, await testClient(url))))
    await until(async () => ((await statusOf(gateways[0] as never)).replicas as unknown[]).length === 2)
    await redis.stop()
    await until(async () => (await statusOf(gateways[0] as never)).store === 'away')

    const codes: string[] = []
    for (let round = 0; round < 15; round++) codes.push(await call(clients[0]))
    assert.equal(ok(codes), 10)

    await redis.start()
    await until(async () => (await statusOf(gateways[1] as never)).store === 'up')
    const rest: string[] = []
    for (let round = 0; round < 30; round++) rest.push(await call(clients[1]))
    assert.ok(ok(rest) <= 20)
  },
)

test('a day goes on where it was, when Redis comes back empty', { skip }, async t => {
  const { gateways, redis } = await replicas(t, 1, {
    rateLimit: { rules: { day: { per: [], tools: '*', perDay: 30 } } },
  })
  const client = closeAfter(t, await testClient(gateways[0]?.url ?? ''))
  const spend = async (calls: number): Promise<string[]> => {
    const codes: string[] = []
    for (let round = 0; round < calls; round++) codes.push(await call(client))
    return codes
  }
  const first = ok(await spend(12))
  await redis.stop()
  await until(async () => (await statusOf(gateways[0] as never)).store === 'away')
  const away = await spend(20)
  assert.ok(away.includes('GW_QUOTA_STATE'), 'closed after what was reserved')
  await redis.start()
  await until(async () => (await statusOf(gateways[0] as never)).store === 'up')

  const last = await spend(30)
  assert.equal(first + ok(away) + ok(last), 30)
  assert.equal(last.at(-1), 'GW_RATE_LIMITED')
})
