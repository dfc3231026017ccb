import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cleanup } from '../../fixtures/cleanup.ts'
import { redisFor, skip } from '../../fixtures/redis.ts'
import { onRedis, pause, until } from './shared-setting.ts'

test(
  'redis: while it is away every verb is refused, and afterwards who listens is told and hears again',
  { skip },
  async t => {
    const redis = await redisFor(t)
    const { shared } = await onRedis(t, redis)
    const heard: string[] = []
    let missed = 0
    cleanup(
      t,
      shared.subscribe(
        'a',
        text => heard.push(text),
        () => missed++,
      ),
    )
    await until(() => missed === 1)

    await redis.stop()
    const asked = [
      () => shared.get('k'),
      () => shared.put('k', 'v', { expiresInMs: 1000 }),
      () => shared.take('k'),
      () => shared.delete('k'),
      () => shared.takePermits('k', { max: 1, windowMs: 1000, count: 1 }),
      () => shared.addToCounter('k', { delta: 1, expiresInMs: 1000 }),
      () => shared.publish('a', 'lost'),
    ]
    for (const ask of asked) await assert.rejects(ask, { code: 'GW_SHARED_AWAY' })
    assert.equal(shared.isUp, false)

    await redis.start()
    await until(() => missed > 1 && shared.isUp)
    await until(async () => {
      await shared.publish('a', 'x').catch(() => undefined)
      await pause(20)
      return heard.includes('x')
    })
    assert.equal(heard.includes('lost'), false)
  },
)

test('redis: keys say nothing of what they are for, and a slice of a time to come is forgotten', { skip }, async t => {
  const redis = await redisFor(t)
  const { shared } = await onRedis(t, redis)
  await shared.put('https://issuer alice', 'v', { expiresInMs: 60_000 })
  await shared.takePermits('alice', { max: 5, windowMs: 60_000, count: 5 })

  const keys = await redis.ask('KEYS', '*')
  assert.equal(keys.includes('alice'), false)
  const key = /tg:g:permits:\S+/.exec(keys)?.[0] ?? ''
  const [slice = ''] = /(?<=\r\n)\d{6,}(?=\r\n)/.exec(await redis.ask('HGETALL', key)) ?? []
  // As if the clock of Redis had been set back by a day.
  await redis.ask('HDEL', key, slice)
  await redis.ask('HSET', key, String(Number(slice) + 86_400), '5')
  assert.equal((await shared.takePermits('alice', { max: 5, windowMs: 60_000, count: 5 })).granted, 5)
})
