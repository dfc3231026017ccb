import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TAKE_OVER } from '../../../../../plugins/cluster/events/scripts.ts'
import { GET, LOOK, TAKE } from '../../../../../plugins/cluster/shared/scripts.ts'
import { RedisStore } from '../../../../../plugins/cluster/store/redis-store.ts'
import { ADOPT, READ, ROSTER, WRITE } from '../../../../../plugins/cluster/store/scripts.ts'
import { systemClock } from '../../../../../src/util/clock.ts'
import { cleanup } from '../../../../fixtures/cleanup.ts'
import { redisFor, skip } from '../../../../fixtures/redis.ts'
import { SILENT } from '../../install.ts'

/** Longer than anything of ours. */
const HUGE = 'x'.repeat(5 * 1024 * 1024)
/** Characters of a reply that a replica has room for. */
const SMALL = 64 * 1024

const SESSION = 'tg:{g}:s:one'
const REPLICA = 'tg:{g}:replica:r0'
const ROSTER_KEY = 'tg:{g}:replicas'
const EVENTS = 'tg:g:e:one'
const VALUE = 'tg:g:value:one'

test('what is longer than anything of ours stays in Redis, whatever reads it', { skip }, async t => {
  const redis = await redisFor(t)
  const store = await RedisStore.make({ redis: redis.url, directory: '.', clock: systemClock, log: SILENT })
  cleanup(t, () => store.close())
  await store.connect()
  const write: readonly (readonly string[])[] = [
    ['SET', REPLICA, HUGE],
    ['ZADD', ROSTER_KEY, '9e15', HUGE, '9e15', 'r0123456789abcdef'],
    ['HSET', SESSION, 'owner', 'r0', 'epoch', '1', 'record', HUGE],
    ['HSET', `${SESSION}2`, 'owner', HUGE, 'epoch', '1', 'record', 'x'],
    ['XADD', EVENTS, '1-1', 'e', HUGE],
    ['SET', VALUE, HUGE],
  ]
  for (const command of write) assert.doesNotMatch(await redis.ask(...command), /^-/)

  const owned = ['r1', '1', 'x', '1000']
  const adopted = ['r0', '1', 'r1', '1000', '', '']
  const replies = {
    entry: await store.get(REPLICA),
    roster: await store.run(ROSTER, [ROSTER_KEY], []),
    record: await store.run(READ, [SESSION], []),
    owner: await store.run(READ, [`${SESSION}2`], []),
    written: await store.run(WRITE, [`${SESSION}2`], owned),
    adopted: await store.run(ADOPT, [`${SESSION}2`, REPLICA], adopted),
    events: await store.run(TAKE_OVER, [EVENTS], ['2', '1000']),
    got: await store.run(GET, [VALUE], []),
    looked: await store.run(LOOK, [VALUE], []),
    taken: await store.run(TAKE, [VALUE], []),
  }

  const long = Object.entries(replies).filter(([, reply]) => JSON.stringify(reply).length > SMALL)
  assert.deepEqual(
    long.map(([name]) => name),
    [],
  )
  assert.deepEqual(replies.roster, ['r0123456789abcdef'])
  assert.deepEqual(replies.record, ['r0', 1, null])
  assert.equal(replies.got, null)
})
