import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../../src/plugin.ts'
import { closeAfter, testClient, testUpstream, type TestGateway } from '../../../../src/testing/index.ts'
import { redisFor, skip } from '../../../fixtures/redis.ts'
import { replica, until } from '../cluster/setting.ts'

const SECRET = 'a secret of this test that is long enough'

interface Setting {
  readonly one: TestGateway
  readonly two: TestGateway
  /** Amounts that the server was told to send. */
  sent(): unknown[]
  /** Begins a call at the first replica, and resolves when it waits. */
  begin(amount: number): Promise<{ readonly id: string; readonly answer: Promise<string> }>
}

/** Two replicas that ask before they send money. */
async function setting(t: TestContext, approve: JsonObject = {}): Promise<Setting> {
  const redis = await redisFor(t)
  const pay = closeAfter(t, await testUpstream({ tools: { send: () => 'sent' } }))
  const config = {
    upstreams: { pay: { type: 'http', url: pay.url } },
    policy: { ask: [{ for: 'pay__send', when: 'true', name: 'money' }] },
    approve: { by: ['owner'], ...approve },
  }
  const [one, two] = [await replica(t, redis, config), await replica(t, redis, config)]
  const client = closeAfter(t, await testClient(one))
  const sent = (): unknown[] =>
    pay.listCalls('tools/call').map(({ params }) => (params?.arguments as JsonObject).amount)
  const begin: Setting['begin'] = async amount => {
    const known = new Set((await listed(one)).map(({ id }) => id))
    const answer = client
      .request('tools/call', { name: 'pay__send', arguments: { amount } })
      .then(reply => JSON.stringify(reply), String)
    let id: unknown
    await until(async () => {
      id = (await listed(one)).find(row => !known.has(row.id))?.id
      return id !== undefined
    })
    return { id: String(id), answer }
  }
  return { one, two, sent, begin }
}

async function listed({ gateway }: TestGateway): Promise<JsonObject[]> {
  return (await gateway.control('approvals.list')).approvals as JsonObject[]
}

test('a webhook answers at any replica', { skip }, async t => {
  const { one, two, sent, begin } = await setting(t, {
    by: ['owner', 'webhook'],
    webhook: { url: 'http://127.0.0.1:9/', secret: SECRET, callback: '/decisions' },
  })
  const { id, answer } = await begin(9)
  const say = async (decision: string): Promise<number> => {
    const body = JSON.stringify({ id, decision })
    const timestamp = String(Date.now())
    const signature = `sha256=${createHmac('sha256', SECRET).update(`${timestamp}.${body}`).digest('hex')}`
    const headers = { 'x-tapgate-timestamp': timestamp, 'x-tapgate-signature': signature }
    return (await fetch(new URL('/decisions', two.url), { method: 'POST', headers, body })).status
  }
  assert.deepEqual([await say('approve'), await say('deny')], [200, 404])
  assert.match(await answer, /sent/)
  assert.deepEqual(sent(), [9])
  assert.deepEqual(await listed(one), [])
})
