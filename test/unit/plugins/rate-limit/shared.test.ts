import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createKey } from '../../../../src/cli/scaffold.ts'
import { gatewayError, type JsonObject, type Plugin, type SharedStore } from '../../../../src/plugin.ts'
import { SharedMemory } from '../../../fixtures/shared-memory.ts'
import {
  closeAfter,
  testClient,
  testGateway,
  testUpstream,
  type TestClient,
  type TestGateway,
} from '../../../../src/testing/index.ts'

const alice = createKey('alice', [])
const bob = createKey('bob', [])
const AUTH = {
  keys: [
    { name: 'alice', hash: alice.hash },
    { name: 'bob', hash: bob.hash },
  ],
}

interface Processes {
  /** While true, the store rejects. */
  isAway: boolean
  client(index: number, key?: string): Promise<TestClient>
}

/** So many gateways that share a memory, before one server. */
async function processes(t: TestContext, { count, rules }: { count: number; rules: JsonObject }): Promise<Processes> {
  const web = closeAfter(t, await testUpstream({ tools: { read: () => 'rows', add: () => 'added' } }))
  const memory = new SharedMemory({ now: () => performance.now(), sharers: () => count })
  const config = { auth: AUTH, rateLimit: { rules }, upstreams: { web: { type: 'http', url: web.url } } }
  const gateways: TestGateway[] = []
  const state = { isAway: false }
  const own = memory.of()
  const addToCounter: SharedStore['addToCounter'] = (key, request) =>
    state.isAway ? Promise.reject(gatewayError('GW_SHARED_AWAY', { why: 'a test' })) : own.addToCounter(key, request)
  const store = { ...own, processCount: count, addToCounter }
  for (let index = 0; index < count; index++) {
    const shares: Plugin<never> = {
      name: 'shares',
      early: true,
      setup: ({ hooks }) => void hooks.services.tap(services => ({ ...services, store })),
    }
    gateways.push(closeAfter(t, await testGateway({ config, plugins: [shares] })))
  }
  return Object.assign(state, {
    client: async (index: number, key = alice.key) => {
      const headers = { authorization: `Bearer ${key}` }
      return closeAfter(t, await testClient(gateways[index]?.url ?? '', { headers }))
    },
  })
}

async function call(client: TestClient | undefined, tool = 'read'): Promise<string> {
  const reply = await client?.request('tools/call', { name: `web__${tool}`, arguments: {} })
  return String((reply?.error?.data as JsonObject | undefined)?.code ?? 'ok')
}

function ok(codes: readonly string[]): number {
  return codes.filter(code => code === 'ok').length
}

for (const limit of ['perMinute', 'perDay'])
  test(`three processes together let through what ${limit} allows`, async t => {
    const { client } = await processes(t, { count: 3, rules: { few: { tools: '*', [limit]: 40 } } })
    const clients = await Promise.all([0, 1, 2].map(index => client(index)))

    const codes: string[] = []
    for (let round = 0; round < 5; round++)
      codes.push(...(await Promise.all(clients.flatMap(one => [1, 2, 3, 4].map(() => call(one))))))

    assert.equal(ok(codes), 40)
    assert.equal(codes.filter(code => code === 'GW_RATE_LIMITED').length, 20)
    assert.equal(await call(await client(1, bob.key)), 'ok', 'another caller has a count of its own')
  })

test('while the store is away each process allows its share of a minute, and no counted day', async t => {
  const rules = { few: { tools: 'web__read', perMinute: 30 }, day: { tools: 'web__add', perDay: 30 } }
  const made = await processes(t, { count: 3, rules })
  const one = await made.client(0)
  for (let round = 0; round < 4; round++) assert.equal(await call(one), 'ok')
  made.isAway = true

  const codes: string[] = []
  for (let round = 0; round < 12; round++) codes.push(await call(one))
  assert.equal(ok(codes), 6)
  assert.equal(await call(one, 'add'), 'GW_QUOTA_STATE')
  made.isAway = false
  assert.equal(await call(one), 'ok')
  assert.equal(await call(one, 'add'), 'ok')
})

test('a call that one rule refuses is not counted by another', async t => {
  const rules = { all: { tools: '*', perMinute: 5 }, one: { tools: 'web__read', perMinute: 1 } }
  const { client } = await processes(t, { count: 1, rules })
  const one = await client(0)

  const reads = []
  for (let round = 0; round < 4; round++) reads.push(await call(one))
  const others = []
  for (let round = 0; round < 5; round++) others.push(await call(one, 'add'))

  assert.deepEqual(reads, ['ok', ...Array.from({ length: 3 }, () => 'GW_RATE_LIMITED')])
  assert.deepEqual(others, ['ok', 'ok', 'ok', 'ok', 'GW_RATE_LIMITED'])
})
