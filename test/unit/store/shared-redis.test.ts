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

test('redis: keys say nothing of what they are for', { skip }, async t => {
  const redis = await redisFor(t)
  const { shared } = await onRedis(t, redis)
  await shared.put('https://issuer alice', 'v', { expiresInMs: 60_000 })
  await shared.addToCounter('alice', { delta: 1, expiresInMs: 60_000 })

  const keys = await redis.ask('KEYS', '*')
  assert.match(keys, /tg:g:value:.*tg:g:count:|tg:g:count:.*tg:g:value:/s)
  assert.equal(keys.includes('alice'), false)
})
