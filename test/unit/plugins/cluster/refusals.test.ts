import assert from 'node:assert/strict'
import { createServer, type AddressInfo, type Socket } from 'node:net'
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

test('replies that make no sense cost no session', async t => {
  const sockets = new Set<Socket>()
  const nonsense = createServer(socket => {
    sockets.add(socket.on('error', () => undefined))
    socket.on('data', bytes => {
      const commands = String(bytes).match(/\*\d+\r\n/g) ?? []
      socket.write('*2\r\n:1\r\n:2\r\n'.repeat(commands.length))
    })
  }).listen(0, '127.0.0.1')
  cleanup(t, () => {
    for (const socket of sockets) socket.destroy()
    nonsense.close()
  })
  await new Promise(resolve => nonsense.once('listening', resolve))
  const one = await replicaAt(t, `redis://127.0.0.1:${(nonsense.address() as AddressInfo).port}`)

  const session = await open(one.url)

  assert.match(await echo(one.url, session, 'x'), /^200/)
  assert.match(await echo(one.url, session, 'y'), /^200/)
})
