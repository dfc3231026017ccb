import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/plugin.ts'
import { closeAfter, testClient, testUpstream } from '../../../../src/testing/index.ts'
import { redisFor, skip } from '../../../fixtures/redis.ts'
import { replica, until } from '../cluster/setting.ts'
import { callOf, SECRET, sign, textOf } from './setting.ts'

test('a webhook answers at any replica', { skip }, async t => {
  const redis = await redisFor(t)
  const pay = closeAfter(t, await testUpstream({ tools: { send: () => 'sent' } }))
  const webhook = { url: 'http://127.0.0.1:9/', secret: SECRET, callback: '/decisions' }
  const config = {
    upstreams: { pay: { type: 'http', url: pay.url } },
    policy: { ask: [{ for: 'pay__send', when: 'true', name: 'money' }] },
    approve: { by: ['owner', 'webhook'], webhook },
  }
  const [one, two] = [await replica(t, redis, config), await replica(t, redis, config)]
  const client = closeAfter(t, await testClient(one))
  const listed = async (): Promise<JsonObject[]> =>
    (await one.gateway.control('approvals.list')).approvals as JsonObject[]
  const answer = client.request('tools/call', callOf(9))
  await until(async () => (await listed()).length > 0)
  const [waiting] = await listed()
  const say = async (decision: string): Promise<number> => {
    const body = JSON.stringify({ id: waiting?.id, decision })
    return (await fetch(new URL('/decisions', two.url), { method: 'POST', headers: sign(body), body })).status
  }

  assert.deepEqual([await say('approve'), await say('deny')], [200, 404])
  assert.equal(textOf(await answer), 'sent')
  assert.equal(pay.listCalls('tools/call').length, 1)
  assert.deepEqual(await listed(), [])
})
