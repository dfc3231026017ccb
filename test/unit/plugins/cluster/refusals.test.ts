import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { closeAfter, testGateway, testUpstream, type TestGateway } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { redisFor, skip } from '../../../fixtures/redis.ts'
import { echo, KEY, open, statusOf, until } from './setting.ts'

const RIGHTS = '~tg:* &tg:* +@read +@write +@scripting +@pubsub +@connection +time -@dangerous'

async function replicaAt(t: TestContext, redis: string): Promise<TestGateway> {
  const web = closeAfter(t, await testUpstream({ tools: { echo: args => JSON.stringify(args) } }))
  const listeners = { main: { type: 'http', port: 0 } }
  const upstreams = { web: { type: 'http', url: web.url } }
  const one = await testGateway({ config: { listeners, upstreams, cluster: { redis, keys: [KEY] } } })
  cleanup(t, () => one[Symbol.asyncDispose]())
  return one
}

async function codesOf({ gateway }: TestGateway): Promise<string[]> {
  const { findings } = await gateway.control('health')
  return (findings as JsonObject[]).map(({ code }) => String(code))
}

test('a Redis that refuses what replicas ask is told to the owner, with its own words', { skip }, async t => {
  const redis = await redisFor(t)
  await redis.ask('ACL', 'SETUSER', 'weak', 'on', '>pw', ...RIGHTS.split(' '), '-evalsha', '-eval')
  const one = await replicaAt(t, `redis://weak:pw@127.0.0.1:${redis.port}`)

  await until(async () => (await codesOf(one)).includes('cluster-store-refuses'))
  assert.match(String((await statusOf(one)).refusal), /^NOPERM .*eval/)
  assert.match(await echo(one.url, await open(one.url), 'x'), /^200/)
})

test('the rights that the page names are enough', { skip }, async t => {
  const redis = await redisFor(t)
  await redis.ask('ACL', 'SETUSER', 'gateway', 'on', '>pw', ...RIGHTS.split(' '))
  const url = `redis://gateway:pw@127.0.0.1:${redis.port}`
  const [one, other] = [await replicaAt(t, url), await replicaAt(t, url)]

  await until(async () => ((await statusOf(one)).replicas as unknown[]).length === 2)
  assert.match(await echo(other.url, await open(one.url), 'x'), /^200/)
  for (const replica of [one, other]) assert.ok(!(await codesOf(replica)).includes('cluster-store-refuses'))
})
