import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import type { RedisConfig } from '../../../../plugins/cluster/store/connections/connection.ts'
import { RedisStore } from '../../../../plugins/cluster/store/redis-store.ts'
import { ADOPT, READ, WRITE } from '../../../../plugins/cluster/store/scripts.ts'
import { systemClock } from '../../../../src/util/clock.ts'
import { createLog } from '../../../../src/util/log.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { freePort } from '../../../fixtures/free-port.ts'
import { nodesFor, type Redis, redisFor, sentinelFor, skip } from '../../../fixtures/redis.ts'
import { directoryWith } from '../../../fixtures/sandbox.ts'
import { authority } from '../../fixtures/certificates.ts'
import { echo, open, replica, replicas, until } from './setting.ts'
import { closeAfter, testUpstream } from '../../../../src/testing/index.ts'

const clock = systemClock
const log = createLog({ level: 'error', format: 'json', write: () => undefined })
const KEY = 'tg:{g}:s:x'

async function storeAt(t: TestContext, redis: RedisConfig, directory = '.'): Promise<RedisStore> {
  const store = await RedisStore.make({ redis, directory, clock, log })
  cleanup(t, () => store.close())
  await store.connect()
  return store
}

const write = (store: RedisStore, record: string): Promise<unknown> =>
  store.run(WRITE, [KEY], ['me', '1', record, '600000'])
const read = async (store: RedisStore): Promise<unknown> =>
  ((await store.run(READ, [KEY], [])) as unknown[])[2]

/** Resolves when this has succeeded; every failure is the one of a Redis that is away. */
async function atLast<T>(does: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + 40_000
  for (;;)
    try {
      return await does()
    } catch (error) {
      assert.equal((error as { code?: string }).code, 'GW_CLUSTER_AWAY', String(error))
      if (Date.now() > deadline) throw error
      await new Promise(resolve => setTimeout(resolve, 50))
    }
}

test('over TLS the authority of Redis is checked, and its user and password are told', { skip }, async t => {
  const ours = authority('Redis CA')
  const { cert, key } = ours.certify('redis')
  const directory = directoryWith(t, {
    ...{ cert, key, ca: ours.cert, others: authority('Others CA').cert },
    ...{ 'client.crt': ours.certify('gateway').cert },
  })
  const port = await freePort()
  const files = ['cert', 'key', 'ca'].flatMap(name => [`--tls-${name}-file`, join(directory, name)])
  const user = ['--user', 'gateway', 'on', '>secret', '~*', '&*', '+@all']
  await redisFor(t, '--tls-port', String(port), '--tls-auth-clients', 'no', ...acOf(files), ...user)
  const url = `rediss://127.0.0.1:${port}`
  const login = { username: 'gateway', password: 'secret' }

  const store = await storeAt(t, { url, ...login, tls: { ca: 'ca' } }, directory)
  await atLast(() => write(store, 'over TLS'))
  assert.equal(await read(store), 'over TLS')
  const inUrl = await storeAt(
    t,
    { url: `rediss://gateway:secret@127.0.0.1:${port}`, tls: { ca: 'ca' } },
    directory,
  )
  assert.equal(await atLast(() => read(inUrl)), 'over TLS')

  for (const wrong of [
    { url, ...login, tls: { ca: 'others' } },
    { url, ...login },
    { url, username: 'gateway', password: 'wrong', tls: { ca: 'ca' } },
  ]) {
    const refused = await storeAt(t, wrong, directory)
    await assert.rejects(read(refused), { code: 'GW_CLUSTER_AWAY' })
  }
  await assert.rejects(storeAt(t, { url, tls: { ca: 'missing' } }, directory), { code: 'GW_CLUSTER_TLS' })
})

/** Redis has one name for the directory of authorities and another for a file. */
function acOf(files: readonly string[]): string[] {
  return files.map(one => one.replace('--tls-ca-file', '--tls-ca-cert-file'))
}

test('a Redis that is only a replica of another one is as good as away', { skip }, async t => {
  const master = await redisFor(t)
  const slave = await redisFor(t, '--replicaof', '127.0.0.1', String(master.port))
  const store = await storeAt(t, slave.url)

  await assert.rejects(write(store, 'x'), { code: 'GW_CLUSTER_AWAY' })
})

test(
  'the master that sentinels name is followed when it dies, and when it becomes a replica',
  { skip },
  async t => {
    const auth = ['--requirepass', 'secret', '--masterauth', 'secret']
    const first = await redisFor(t, ...auth)
    const second = await redisFor(t, ...auth, '--replicaof', '127.0.0.1', String(first.port))
    const sentinel = await sentinelFor(t, first, 'sentinel auth-pass main secret')
    const dead = `127.0.0.1:${await freePort()}`
    const redis = { sentinels: [dead, `127.0.0.1:${sentinel.port}`], name: 'main', password: 'secret' }
    const store = await storeAt(t, redis)
    await atLast(() => write(store, 'before'))
    const inside = (one: Redis): Promise<string> => one.askAs('secret', 'HGET', KEY, 'record')
    await until(async () => (await inside(second)).includes('before'))
    // A sentinel knows of replicas when it has asked the master.
    await until(async () =>
      (await sentinel.ask('SENTINEL', 'REPLICAS', 'main')).includes(String(second.port)),
    )

    await until(async () => (await sentinel.ask('SENTINEL', 'FAILOVER', 'main')).startsWith('+OK'))
    await until(async () => (await first.askAs('secret', 'ROLE')).includes('slave'))
    await atLast(() => write(store, 'while both live'))
    assert.match(await inside(second), /while both live/)
    await until(async () => (await inside(first)).includes('while both live'))

    await second.stop()
    await assert.rejects(write(store, 'lost'), { code: 'GW_CLUSTER_AWAY' })
    await atLast(() => write(store, 'after'))
    assert.match(await inside(first), /after/)
    assert.equal(store.isUp, true)
  },
)

test('sentinels that do not know the name are as good as none', { skip }, async t => {
  const sentinel = await sentinelFor(t, await redisFor(t))
  const store = await storeAt(t, { sentinels: [`127.0.0.1:${sentinel.port}`], name: 'unknown' })
  await assert.rejects(read(store), { code: 'GW_CLUSTER_AWAY' })
})

test('a Redis Cluster is found from one node, and a slot that moves is followed', { skip }, async t => {
  const nodes = await nodesFor(t, 3)
  const [first] = nodes
  const store = await storeAt(t, { nodes: [`127.0.0.1:${first?.port ?? 0}`] })
  await atLast(() => write(store, 'in its slot'))
  const adopted = await store.run(ADOPT, [KEY, 'tg:{g}:replica:me'], ['me', '1', 'you', '60000', ''])
  assert.deepEqual(adopted, ['you', 2])

  const slot = /:(\d+)/.exec((await first?.ask('CLUSTER', 'KEYSLOT', KEY)) ?? '')?.[1] ?? ''
  const idOf = async (node: Redis): Promise<string> =>
    /[0-9a-f]{40}/.exec(await node.ask('CLUSTER', 'MYID'))?.[0] ?? ''
  const has = async (node: Redis): Promise<boolean> => (await node.ask('EXISTS', KEY)).startsWith(':1')
  const owners = await Promise.all(nodes.map(has))
  const [from, to] = [nodes[owners.indexOf(true)], nodes[owners.indexOf(false)]]
  assert.ok(from !== undefined && to !== undefined)
  const [fromId, toId] = [await idOf(from), await idOf(to)]
  await to.ask('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId)
  await from.ask('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId)
  await from.ask('MIGRATE', '127.0.0.1', String(to.port), KEY, '0', '5000')
  assert.equal(await atLast(() => read(store)), 'in its slot', 'while it moves')
  for (const node of [to, from]) await node.ask('CLUSTER', 'SETSLOT', slot, 'NODE', toId)
  assert.equal(await atLast(() => read(store)), 'in its slot', 'and then')
})

test('replicas of a gateway share a Redis Cluster, and one behind sentinels', { skip }, async t => {
  const nodes = await nodesFor(t, 3)
  const sentinel = await sentinelFor(t, await redisFor(t))
  for (const redis of [
    { nodes: nodes.map(({ port }) => `127.0.0.1:${port}`) },
    { sentinels: [`127.0.0.1:${sentinel.port}`], name: 'main' },
  ]) {
    const web = closeAfter(t, await testUpstream({ tools: { echo: args => JSON.stringify(args) } }))
    const config = { upstreams: { web: { type: 'http', url: web.url } }, cluster: { redis } }
    const [none = sentinel] = nodes
    const one = await replica(t, none, config)
    const other = await replica(t, none, config)
    const session = await open(one.url)
    await until(async () => (await echo(other.url, session, 'x')).startsWith('200'))
    await one.gateway.close()
    await until(async () => (await echo(other.url, session, 'y')).startsWith('200'))
  }
})

test('a connection that Redis ends is made anew, and nothing is lost', { skip }, async t => {
  const { redis, urls } = await replicas(t, 2)
  const [first = '', second = ''] = urls
  const session = await open(first)
  await until(async () => (await echo(second, session, 'x')).startsWith('200'))
  await redis.ask('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')
  await until(async () => (await echo(second, session, 'y')).startsWith('200'))
})
