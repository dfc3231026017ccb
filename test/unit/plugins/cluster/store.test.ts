import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { RedisStore } from '../../../../plugins/cluster/redis/redis-store.ts'
import { RENEW } from '../../../../plugins/cluster/redis/scripts.ts'
import { systemClock as clock } from '../../../../src/util/clock.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { redisFor, skip } from '../../../fixtures/redis.ts'
import { SILENT } from '../install.ts'
import { until } from './setting.ts'

/** Time that Redis has for a command. */
const COMMAND_MS = 250
const KEY = 'tg:{g}:replicas'

async function connected(t: TestContext, url: string): Promise<RedisStore> {
  const store = await RedisStore.create({ redis: url, directory: '.', clock, log: SILENT })
  cleanup(t, () => store.close())
  await store.connect()
  return store
}

test('a Redis that does not answer is asked no more for a while', { skip }, async t => {
  const redis = await redisFor(t)
  const store = await connected(t, redis.url)
  cleanup(t, () => redis.signal('SIGCONT'))
  const get = (): Promise<unknown> => store.send(['GET', 'x'])
  await get()

  redis.signal('SIGSTOP')
  await assert.rejects(get(), { code: 'GW_CLUSTER_AWAY' })
  await assert.rejects(get(), /paused after a timeout/)

  redis.signal('SIGCONT')
  await until(() =>
    get().then(
      () => true,
      () => false,
    ),
  )
})

test('a process that was busy itself does not take Redis for slow', { skip }, async t => {
  const { url } = await redisFor(t)
  const store = await connected(t, url)
  await store.runScript(RENEW, [KEY], ['a', 'one', '60000'])

  const asked = store.runScript(RENEW, [KEY], ['', '', '0'])
  for (const end = performance.now() + 2 * COMMAND_MS; performance.now() < end;);

  assert.deepEqual(await asked, ['a', 'one'])
  assert.equal(store.isUp, true)
})
