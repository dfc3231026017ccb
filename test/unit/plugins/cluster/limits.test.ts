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
  assert.deepEqual(new Set(away), new Set(['GW_QUOTA_STATE']))
  await redis.start()
  await until(async () => (await statusOf(gateways[0] as never)).store === 'up')

  const last = await spend(30)
  assert.equal(first + ok(away) + ok(last), 30)
  assert.equal(last.at(-1), 'GW_RATE_LIMITED')
})
