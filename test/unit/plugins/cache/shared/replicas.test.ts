import assert from 'node:assert/strict'
import { test } from 'node:test'
import { makeKey } from '../../../../../src/cli/scaffold/new-key.ts'
import { skip } from '../../../../fixtures/redis.ts'
import { call, clientOf, configFor, counted, given, HOUR, PLACES, report, until } from './setting.ts'

const [alice, bob] = ['alice', 'bob'].map(name => makeKey(name, []))
const AUTH = {
  keys: [
    { name: 'alice', hash: alice?.hash },
    { name: 'bob', hash: bob?.hash },
  ],
}

function bearer(key: string | undefined): Record<string, string> {
  return { authorization: `Bearer ${key}` }
}

for (const [name, make] of Object.entries(PLACES)) {
  const options = { skip: name === 'redis' ? skip : false }

  test(`${name}: a replica that begins answers from what another one has asked`, options, async t => {
    const web = await counted(t)
    const place = await make(t)
    const one = await place.gateway(configFor(web))
    const near = await clientOf(t, one)
    assert.equal(await call(near), 'look 1')
    await near.request('tools/list', {})
    await given(one, 2)
    const lists = web.lists()

    const two = await place.gateway(configFor(web))
    const far = await clientOf(t, two)
    assert.equal(await call(far), 'look 1')
    assert.equal(await call(far), 'look 1')
    await far.request('tools/list', {})

    assert.equal(web.asked('look'), 1)
    assert.equal(web.lists(), lists)
    const { hits, refused, away } = await report(two)
    assert.deepEqual({ hits, refused, away }, { hits: 2, refused: 0, away: 0 })
    const { entries } = await two.gateway.control('cache.ls', { name: 'look' })
    const [entry] = entries as readonly { readonly hits: number; readonly ttlMs: number }[]
    assert.equal(entry?.hits, 1, 'the second time it was its own')
    assert.ok((entry?.ttlMs ?? HOUR) < HOUR, 'it grows no younger by being shared')
  })

  test(`${name}: another caller and another header value never get the answer`, options, async t => {
    const web = await counted(t)
    const place = await make(t)
    const config = configFor(web, { auth: AUTH })
    const one = await place.gateway(config)
    const near = await clientOf(t, one, { ...bearer(alice?.key), 'x-lang': 'en' })
    assert.equal(await call(near, 'look', { id: 1 }), 'look 1')
    await given(one, 1)

    const two = await place.gateway(config)
    const ask = async (key: string | undefined, lang: string, id: number): Promise<string> =>
      call(await clientOf(t, two, { ...bearer(key), 'x-lang': lang }), 'look', { id })
    assert.equal(await ask(bob?.key, 'en', 1), 'look 2')
    assert.equal(await ask(alice?.key, 'de', 1), 'look 3')
    assert.equal(await ask(alice?.key, 'en', 2), 'look 4')
    assert.equal(await ask(alice?.key, 'en', 1), 'look 1')
    assert.equal(web.asked('look'), 4)
  })

  test(
    `${name}: what is outdated at one is out of reach of all, by its owner or a tool`,
    options,
    async t => {
      const web = await counted(t)
      const place = await make(t)
      const one = await place.gateway(configFor(web))
      const near = await clientOf(t, one)
      await call(near)
      await call(near, 'large')
      await given(one, 2)
      assert.equal((await one.gateway.control('cache.purge', { tag: 'things' })).others, 'told')

      const two = await place.gateway(configFor(web))
      const far = await clientOf(t, two)
      assert.equal(await call(far), 'look 2')
      await given(two, 1)
      await call(far, 'write')
      await until(async () => (await two.gateway.control('cache.ls', { name: 'look' })).total === 0)
      const three = await place.gateway(configFor(web))
      const third = await clientOf(t, three)
      await until(async () => (await call(third)) === 'look 3')
      assert.equal(web.asked('look'), 3)
    },
  )

  test(`${name}: a thousand who wait for one answer ask once, the store and the server`, options, async t => {
    const web = await counted(t)
    const place = await make(t)
    const one = await place.gateway(configFor(web))
    const near = await clientOf(t, one)
    await call(near)
    await near.request('tools/list', {})
    const before = Number((await report(one)).misses)
    const calls = Array.from({ length: 1000 }, () => call(near, 'slow'))
    await until(() => web.asked('slow') === 1)
    web.release()

    assert.deepEqual([...new Set(await Promise.all(calls))], ['slow'])
    await given(one, 3)
    assert.equal(web.asked('slow'), 1)
    assert.equal(Number((await report(one)).misses) - before, 1)
    const far = await clientOf(t, await place.gateway(configFor(web)))
    const others = Array.from({ length: 1000 }, () => call(far, 'slow'))
    assert.deepEqual([...new Set(await Promise.all(others))], ['slow'])
    assert.equal(web.asked('slow'), 1)
  })

  test(
    `${name}: another configuration, or another server of that name, has answers of its own`,
    options,
    async t => {
      const [web, other] = [await counted(t), await counted(t)]
      const place = await make(t)
      const one = await place.gateway(configFor(web))
      await call(await clientOf(t, one))
      await given(one, 1)

      const moved = await place.gateway(configFor(other))
      assert.equal(await call(await clientOf(t, moved)), 'look 1')
      assert.equal(other.asked('look'), 1)
      const ruled = await place.gateway(
        configFor(web, { cache: { tools: { web__look: { ttl: '1h', vary: ['argument:id'] } } } }),
      )
      assert.equal(await call(await clientOf(t, ruled)), 'look 2')
    },
  )

  test(`${name}: what is too large, or not to be shared, stays where it is`, options, async t => {
    const web = await counted(t)
    const place = await make(t)
    const small = configFor(web, { cache: { shared: { maxEntry: '10KiB', wait: '5s' } } })
    const one = await place.gateway(small)
    await call(await clientOf(t, one), 'large')
    await call(await clientOf(t, one))
    await given(one, 1)
    await call(await clientOf(t, await place.gateway(small)), 'large')
    assert.equal(web.asked('large'), 2)

    const off = configFor(web, { upstream: { cache: { shared: false } } })
    const two = await place.gateway(off)
    await call(await clientOf(t, two))
    assert.deepEqual(await report(two), { state: 'up', hits: 0, misses: 0, writes: 0, away: 0, refused: 0 })
  })

  test(`${name}: a store that has lost everything brings nothing old back to life`, options, async t => {
    const web = await counted(t)
    const place = await make(t)
    const one = await place.gateway(configFor(web))
    const near = await clientOf(t, one)
    await call(near)
    await given(one, 1)
    await place.empty()

    const two = await place.gateway(configFor(web))
    assert.equal(await call(await clientOf(t, two)), 'look 2')
    await given(two, 1)
    await one.gateway.control('cache.purge', { all: true })
    const three = await place.gateway(configFor(web))
    assert.equal(await call(await clientOf(t, three)), 'look 3')
  })
}
