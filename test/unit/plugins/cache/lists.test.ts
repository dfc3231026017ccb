import assert from 'node:assert/strict'
import { test } from 'node:test'
import { computeKeys } from '../../../../plugins/cache/upstream-cache.ts'
import { ask, bench, tool, valueOf } from './bench.ts'
import { resultOf } from '../install.ts'

const modern = (ttlMs: number, cacheScope = 'private', tools: unknown[] = []) =>
  resultOf({ tools, ttlMs, cacheScope, resultType: 'complete' }, 'modern')

test('a kept read says how long it still holds, and 0 once it is stale', async () => {
  const resources = { ttl: '1m', staleWhileRevalidate: '1m' }
  const { clock, dispatch } = await bench({ resources }, () =>
    resultOf({ resultType: 'complete', contents: [], ttlMs: 40_000, cacheScope: 'private' }, 'modern'),
  )
  const read = async () => valueOf(await dispatch(ask('resources/read', { uri: 'a:b' })))
  assert.equal((await read()).ttlMs, 40_000)

  clock.pass(15_000)
  assert.deepEqual(await read(), {
    ttlMs: 25_000,
    cacheScope: 'private',
    resultType: 'complete',
    contents: [],
  })
  clock.pass(30_000)
  assert.equal((await read()).ttlMs, 0)
})

test('what a server calls public is shared, but not where anything of the caller reached it', async () => {
  for (const [spec, headers, expected] of [
    [{}, {}, 1],
    [{ isolation: 'session' }, {}, 2],
    [{ isolation: 'principal' }, {}, 2],
    [{}, { authorization: 'same' }, 2],
    [{}, { 'mcp-param-x': 'same' }, 1],
  ] as const) {
    const { calls, dispatch } = await bench({ resources: '1m' }, () => modern(60_000, 'public'), spec)
    for (const subject of ['ann', 'bob']) {
      const call = ask('resources/read', { uri: 'a:b' }, { subject })
      Object.assign(call.headers, headers)
      await dispatch(call)
    }
    assert.equal(calls.length, expected, JSON.stringify([spec, headers]))
  }
})

test('a list that becomes private is nobody else’s from then on', async () => {
  let scope = 'public'
  const { clock, calls, dispatch } = await bench({}, () => modern(1000, scope))
  const as = (subject: string) => dispatch(ask('tools/list', undefined, { subject }))
  await as('ann')
  await as('bob')
  assert.equal(calls.length, 1)

  clock.pass(1000)
  scope = 'private'
  await as('ann')
  await as('bob')
  await as('ann')

  assert.equal(calls.length, 3)
})

test('no part of a key can be forged into another', async () => {
  const policy = {
    ttlMs: 1,
    staleWhileRevalidateMs: 0,
    perSession: false,
    headers: [],
    args: undefined,
  }
  const parts = ['', ':', '1:', '1:a', '","', '\u0000', 'a', '0:', 'a1:', '[]', '{}']
  const keys = new Set<string>()
  let made = 0
  for (const subject of parts)
    for (const name of parts)
      for (const argument of parts) {
        const call = tool(name, { [argument]: argument }, { subject })
        keys.add(computeKeys(call, name, policy)?.own ?? '')
        made++
      }

  assert.equal(keys.size, made)
})

test('the owner sees what is kept without arguments and callers, and purges it by name or all', async () => {
  const tools = { 'web__get_*': '1m' }
  const { clock, control, dispatch } = await bench({ tools })
  await dispatch(tool('get_a', { secret: 'hush' }, { subject: 'ann@example.com' }))
  await dispatch(tool('get_a', { secret: 'hush' }, { subject: 'ann@example.com' }))
  await dispatch(tool('get_b'))
  await dispatch(ask('tools/list'))
  clock.pass(1000)

  const listed = await control('cache.ls', { upstream: 'web', method: 'tools/call', name: 'get_a' })
  const [row] = listed.entries as Record<string, unknown>[]
  assert.deepEqual(
    { ...row, bytes: 0 },
    {
      upstream: 'web',
      method: 'tools/call',
      name: 'get_a',
      state: 'fresh',
      ageMs: 1000,
      ttlMs: 59_000,
      bytes: 0,
      hits: 1,
      scope: 'principal',
    },
  )
  const all = await control('cache.ls')
  assert.equal(all.total, 3)
  assert.doesNotMatch(JSON.stringify(all), /hush|ann/)
  assert.equal((await control('cache.purge')).purged, 0)
  assert.equal((await control('cache.purge', { name: 'get_a' })).purged, 1)
  assert.equal((await control('cache.purge', { name: 'get_*' })).purged, 1)
  assert.equal((await control('cache.purge', { all: true })).purged, 1)
})

test('memory is bounded in bytes, and what is too large for it is not kept', async () => {
  const { calls, control, dispatch } = await bench({ maxBytes: 10_000, tools: { web__get: '1m' } }, call =>
    resultOf({ text: 'x'.repeat((call.params?.arguments as { size: number }).size) }),
  )
  for (let i = 0; i < 10; i++) await dispatch(tool('get', { size: 3000, i }))
  const { bytes, total } = await control('cache.ls')
  assert.ok((bytes as number) <= 10_000 && total === 2, `${String(bytes)} bytes in ${String(total)}`)

  await dispatch(tool('get', { size: 20_000 }))
  await dispatch(tool('get', { size: 20_000 }))
  assert.equal(calls.length, 12)
  assert.equal((await control('cache.ls')).total, 2)
})

test("an upstream's own section counts before everybody's, and false turns it off", async () => {
  const all = { tools: { 'web__get_*': '1m' }, resources: '1m' }
  const own = await bench(all, undefined, { cache: { tools: { get_a: 0, look: '1m' }, resources: 0 } })
  for (const name of ['get_a', 'get_a', 'get_b', 'get_b', 'look', 'look']) await own.dispatch(tool(name))
  for (let i = 0; i < 2; i++) await own.dispatch(ask('resources/read', { uri: 'a:b' }))
  assert.equal(own.calls.length, 6)

  const off = await bench(all, undefined, { cache: false })
  for (let i = 0; i < 2; i++) await off.dispatch(tool('get_a'))
  for (let i = 0; i < 2; i++) await off.dispatch(ask('tools/list'))
  assert.equal(off.calls.length, 4)
})
