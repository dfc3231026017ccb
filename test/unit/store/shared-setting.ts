import { duplexPair } from 'node:stream'
import type { TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { KeyRing } from '../../../plugins/cluster/key-ring.ts'
import { RedisShared } from '../../../plugins/cluster/shared/redis-shared.ts'
import { RedisStore } from '../../../plugins/cluster/store/redis-store.ts'
import { systemClock as clock } from '../../../src/util/clock.ts'
import { createLog } from '../../../src/util/log.ts'
import type { SharedMemory } from '../../../src/util/storage/shared-memory.ts'
import { Line } from '../../../src/workers/ipc/rpc.ts'
import { answerShared, SharedOverLine, Subscriptions } from '../../../src/workers/proxy/shared-over-line.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import type { Redis } from '../../fixtures/redis.ts'

const log = createLog({ level: 'error', format: 'json', write: () => undefined })
export const KEY = Buffer.alloc(32, 7)
export { pause }

/** A memory at the other end of a line. */
export function overLine(t: TestContext, memory: SharedMemory): { store: SharedOverLine; line: Line } {
  const [near, far] = duplexPair()
  const subscriptions = new Subscriptions(note => end.note(note))
  const end: Line = new Line(far, {
    serve: request => answerShared(memory.of(end), request, subscriptions),
    note: () => undefined,
    closed: () => {
      subscriptions.end()
      memory.gone(end)
    },
  })
  const line: Line = new Line(near, {
    serve: () => Promise.reject(new Error('nothing is served')),
    note: ({ topic, text }) => store.hear(String(topic), String(text)),
    closed: () => undefined,
  })
  const store: SharedOverLine = new SharedOverLine(line, KEY, 2)
  cleanup(t, () => {
    line.close()
    end.close()
  })
  return { store, line }
}

/** A store of one process on a Redis. */
export async function onRedis(
  t: TestContext,
  redis: Redis,
): Promise<{ shared: RedisShared; store: RedisStore }> {
  const store = await RedisStore.make({ redis: redis.url, directory: '.', clock, log })
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
