import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { KeyRing } from '../../../plugins/cluster/key-ring.ts'
import { RedisShared } from '../../../plugins/cluster/cluster.ts'
import { RedisStore } from '../../../plugins/cluster/redis/redis-store.ts'
import { systemClock as clock } from '../../../src/util/clock.ts'
import { createLog } from '../../../src/util/log.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import type { Redis } from '../../fixtures/redis.ts'

const log = createLog({ level: 'error', format: 'json', write: () => undefined })
export const KEY = Buffer.alloc(32, 7)
export { pause }

/** A store of one process on a Redis. */
export async function onRedis(t: TestContext, redis: Redis): Promise<{ shared: RedisShared; store: RedisStore }> {
  const store = await RedisStore.create({ redis: redis.url, directory: '.', clock, log })
  await store.connect()
  cleanup(t, () => store.close())
  const ring = new KeyRing('g', [{ id: 'a', key: KEY.toString('base64') }])
  return { shared: new RedisShared({ name: 'g', store, ring, sharers: () => 2 }), store }
}

export async function until(holds: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = Date.now() + 20_000
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error('it never came to be')
    await pause(20)
  }
}
