import assert from 'node:assert/strict'
import { test } from 'node:test'
import { KeyRing } from '../../../../plugins/cluster/key-ring.ts'
import { storeKeys } from '../../../../plugins/cluster/keys.ts'
import { Sessions } from '../../../../plugins/cluster/sessions.ts'
import { RedisStore } from '../../../../plugins/cluster/store/redis-store.ts'
import type { BesideOthers, Exchange } from '../../../../src/api/index.ts'
import { systemClock } from '../../../../src/util/clock.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { redisFor, skip } from '../../../fixtures/redis.ts'
import { SILENT } from '../install.ts'
import { KEY, until } from './setting.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

const SESSIONS = 1000
const RENEW_MS = 1500
const HOUR_MS = 3_600_000

test(
  'an idle session costs Redis two commands in four minutes, and its record outlives it',
  { skip },
  async t => {
    const redis = await redisFor(t)
    const store = await RedisStore.make({ redis: redis.url, directory: '.', clock: systemClock, log: SILENT })
    await store.connect()
    cleanup(t, () => store.close())
    const clock = new HandClock(1_000_000)
    const keys = storeKeys('g')
    const conversations = { idleMs: 1_800_000, has: () => true }
    const listeners = new Map([['main', { conversations } as unknown as BesideOthers]])
    const shared = { store, ring: new KeyRing('g', [KEY]), clock, keys }
    const sessions = new Sessions(shared, { log: SILENT, me: () => 'me', listeners })
    for (let number = 0; number < SESSIONS; number++) {
      const session = { id: `me_${number}`, listener: 'main', principal: {} }
      sessions.note({
        session,
        method: 'initialize',
        params: {},
        answer: { result: {} },
      } as unknown as Exchange)
    }
    await until(async () => {
      await sessions.tend()
      return (await redis.ask('DBSIZE')).startsWith(`:${SESSIONS}\r`)
    })
    const before = await redis.counts()

    for (let ms = 0; ms < HOUR_MS; ms += RENEW_MS) {
      clock.pass(RENEW_MS)
      await sessions.tend()
    }

    const after = await redis.counts()
    const rounds = HOUR_MS / 240_000
    assert.equal((after.hget ?? 0) - (before.hget ?? 0), SESSIONS * rounds)
    assert.equal((after.pexpire ?? 0) - (before.pexpire ?? 0), SESSIONS * rounds)
    assert.equal((after.evalsha ?? 0) - (before.evalsha ?? 0), (SESSIONS / 200) * rounds)
    const life = Number((await redis.ask('PTTL', keys.session('me_0'))).match(/\d+/)?.[0])
    assert.ok(life > conversations.idleMs + 2 * 240_000, 'also when two rounds in a row fail')
  },
)
