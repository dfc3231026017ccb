import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { createPluginStore } from '../../../src/plugin-host/install.ts'
import type { SharedStore } from '../../../src/plugin.ts'
import { systemClock as clock } from '../../../src/util/clock.ts'
import { SharedMemory } from '../../fixtures/shared-memory.ts'
import { redisFor, skip } from '../../fixtures/redis.ts'
import { onRedis, pause, until } from './shared-setting.ts'

/** Two processes that share a store. */
interface Two {
  readonly one: SharedStore
  readonly other: SharedStore
}

const MAKERS: Readonly<Record<string, (t: TestContext) => Promise<Two>>> = {
  memory: () => {
    const memory = new SharedMemory({ now: () => clock.now() })
    return Promise.resolve({ one: memory.of(), other: memory.of() })
  },
  redis: async t => {
    const redis = await redisFor(t)
    const [one, other] = [await onRedis(t, redis), await onRedis(t, redis)]
    return { one: one.shared, other: other.shared }
  },
}

for (const [name, make] of Object.entries(MAKERS)) {
  const options = { skip: name === 'redis' ? skip : false }
  const ms = 60_000

  test(
    `${name}: a value is there for both until it ends, is taken by one, and changes only as was said`,
    options,
    async t => {
      const { one, other } = await make(t)

      assert.equal(await one.get('k'), undefined)
      assert.equal(await one.put('k', 'é\u0000"', { expiresInMs: ms }), true)
      assert.equal(await other.get('k'), 'é\u0000"')
      assert.equal(await other.put('k', 'b', { expiresInMs: ms, when: 'absent' }), false)
      assert.equal(await other.put('k', 'b', { expiresInMs: ms, when: { is: 'x' } }), false)
      assert.equal(await other.put('k', 'b', { expiresInMs: ms, when: { is: 'é\u0000"' } }), true)
      assert.equal(await one.delete('k', 'x'), false)
      assert.equal(await one.get('k'), 'b')
      const taken = await Promise.all([one.take('k'), other.take('k'), one.take('k')])
      assert.deepEqual(taken.sort(), ['b', undefined, undefined])
      assert.equal(await one.delete('k'), false)
      assert.equal(await one.put('k', '', { expiresInMs: 30, when: 'absent' }), true)
      assert.equal(await other.get('k'), '')
      await until(async () => (await other.get('k')) === undefined)
      assert.equal(await other.put('k', 'c', { expiresInMs: ms, when: { is: '' } }), false)
      const locks = await Promise.all(['1', '2'].map(me => one.put('lock', me, { expiresInMs: ms, when: 'absent' })))
      assert.deepEqual(locks.sort(), [false, true])
    },
  )

  test(`${name}: a count ends, stops at its bound, and knows what it has been`, options, async t => {
    const { one, other } = await make(t)

    assert.deepEqual(await one.addToCounter('n', { delta: 3, expiresInMs: ms }), { added: 3, total: 3 })
    assert.deepEqual(await other.addToCounter('n', { delta: 5, expiresInMs: ms, max: 7 }), {
      added: 4,
      total: 7,
    })
    assert.deepEqual(await other.addToCounter('n', { delta: 1, expiresInMs: ms, max: 7 }), {
      added: 0,
      total: 7,
    })
    assert.deepEqual(await other.addToCounter('n', { delta: -4, expiresInMs: ms, max: 7 }), {
      added: -4,
      total: 3,
    })
    assert.deepEqual(await one.addToCounter('n', { delta: 1, expiresInMs: ms, max: 24 }), {
      added: 1,
      total: 4,
    })
    assert.deepEqual(await one.addToCounter('fresh', { delta: 1, expiresInMs: ms, max: 9, initial: 8 }), {
      added: 1,
      total: 9,
    })
    assert.deepEqual(await one.addToCounter('fresh', { delta: 1, expiresInMs: ms, max: 9, initial: 8 }), {
      added: 0,
      total: 9,
    })
    await one.addToCounter('short', { delta: 1, expiresInMs: 200 })
    await until(async () => (await one.addToCounter('short', { delta: 1, expiresInMs: 200 })).total === 1)
    const many = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        (index % 2 === 0 ? one : other).addToCounter('m', { delta: 1, expiresInMs: ms, max: 30 }),
      ),
    )
    assert.equal(many.filter(counted => counted.added === 1).length, 30)
  })

  test(`${name}: what is published is heard by all who listen`, options, async t => {
    const { one, other } = await make(t)
    const heard: string[] = []
    let missed = 0
    const ends = [
      one.subscribe('a', text => heard.push(`1 ${text}`)),
      other.subscribe(
        'a',
        text => heard.push(`2 ${text}`),
        () => missed++,
      ),
      other.subscribe('a', text => heard.push(`3 ${text}`)),
      other.subscribe('b', text => heard.push(`b ${text}`)),
    ]
    if (name === 'redis') await until(() => missed > 0)

    await until(async () => {
      await one.publish('a', 'x')
      await pause(20)
      return ['1 x', '2 x', '3 x'].every(text => heard.includes(text))
    })
    assert.equal(
      heard.some(text => text.startsWith('b')),
      false,
    )
    for (const stop of ends) stop()
    await pause(50)
    const before = heard.length
    await other.publish('a', 'y')
    await pause(50)
    assert.equal(heard.length, before)
  })

  test(`${name}: what is sealed is opened by both, for the same alone`, options, async t => {
    const { one, other } = await make(t)
    const sealed = one.seal('a secret', 'k')

    assert.equal(other.open(sealed, 'k'), 'a secret')
    assert.equal(other.open(sealed, 'l'), undefined)
    assert.equal(other.open(`${sealed.slice(0, -2)}AA`, 'k'), undefined)
    assert.equal(other.open('', 'k'), undefined)
    assert.equal(sealed.includes('secret'), false)
  })

  test(`${name}: of a plugin's keys no other plugin sees anything, and nonsense is refused`, options, async t => {
    const { one } = await make(t)
    const [a, b] = [createPluginStore('a', one), createPluginStore('b', one)]

    await a?.put('k', 'of a', { expiresInMs: ms })
    assert.equal(await b?.get('k'), undefined)
    assert.equal(await a?.get('k'), 'of a')
    for (const wrong of [0, -1, 1.5, Infinity, NaN])
      await assert.rejects(async () => a?.put('k', 'v', { expiresInMs: wrong }), RangeError)
    await assert.rejects(async () => a?.get(''), RangeError)
    await assert.rejects(async () => a?.get('k'.repeat(2000)), RangeError)
    await assert.rejects(async () => a?.put('k', 'v'.repeat(300_000), { expiresInMs: ms }), RangeError)
    await assert.rejects(async () => a?.addToCounter('k', { delta: 0.5, expiresInMs: ms }), RangeError)
  })
}
