import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createKey } from '../../../../src/cli/scaffold.ts'
import { call, handleOf, LONG, MAIN, readAll, scene, texts } from './scene.ts'

test('nobody else opens a handle, and none opens when its time is over', async t => {
  const keys = ['ann', 'bob'].map(name => createKey(name, []))
  const { open, clock } = await scene(
    t,
    { maxTokens: 1000, keep: { for: '5m' } },
    { auth: { keys: keys.map(({ name, hash }) => ({ name, hash })) } },
  )
  const [ann, bob] = await Promise.all(keys.map(({ key }) => open({ headers: { authorization: `Bearer ${key}` } })))
  assert.ok(ann !== undefined && bob !== undefined)
  const handle = handleOf(await call(ann, 'web__long'))

  const others = [handle, `${handle.slice(0, -2)}AA`, handle.slice(1), '', 'x'.repeat(2000), '../etc', 'w1.x']
  for (const one of others) {
    const refused = await call(bob, 'read_result', { handle: one })
    assert.equal(refused.isError, true, one)
  }
  assert.equal(await readAll(ann, handle), LONG)
  clock.advance(300_001)
  assert.equal((await call(ann, 'read_result', { handle })).isError, true)
})

test('anonymous callers with a session open what is their session’s, and no other session does', async t => {
  const { open } = await scene(t, { maxTokens: 1000 })
  const [one, other] = [await open({ era: 'legacy' }), await open({ era: 'legacy' })]
  const handle = handleOf(await call(one, 'web__long'))

  assert.equal((await call(other, 'read_result', { handle })).isError, true)
  assert.equal(await readAll(one, handle), LONG)
})

test('a caller that floods loses its own oldest results, and nobody else’s', async t => {
  const keys = ['ann', 'bob'].map(name => createKey(name, []))
  const { open, gateway } = await scene(
    t,
    { maxTokens: 300, keep: { bytes: '1MiB', share: '200KiB' } },
    { auth: { keys: keys.map(({ name, hash }) => ({ name, hash })) }, metrics: {} },
  )
  const [ann, bob] = await Promise.all(keys.map(({ key }) => open({ headers: { authorization: `Bearer ${key}` } })))
  assert.ok(ann !== undefined && bob !== undefined)
  const own = handleOf(await call(bob, 'web__long'))
  const first = handleOf(await call(ann, 'web__echo', { text: 'a'.repeat(50_000), n: -1 }))

  for (let n = 0; n < 20; n++) await call(ann, 'web__echo', { text: 'a'.repeat(50_000), n })

  assert.equal((await call(ann, 'read_result', { handle: first })).isError, true)
  assert.equal(await readAll(bob, own), LONG)
  const metrics = await (
    await fetch(new URL('/metrics', gateway.url), {
      headers: { authorization: `Bearer ${keys[0]?.key ?? ''}` },
    })
  ).text()
  const bytes = Number(/^tapgate_kept_results_bytes (\d+)/m.exec(metrics)?.[1])
  assert.ok(bytes > 0 && bytes <= 400 * 1024, String(bytes))
})

test('the same result again has the same handle, so that answers stay the same bytes', async t => {
  const { open } = await scene(t, { maxTokens: 1000 })
  const client = await open()

  assert.deepEqual(await call(client, 'web__long'), await call(client, 'web__long'))
})

test('a reload keeps what is kept, and goes by the new rules', async t => {
  const { open, gateway, web } = await scene(t, { maxTokens: 1000 })
  const client = await open()
  const handle = handleOf(await call(client, 'web__long'))

  const upstreams = { web: { type: 'http', url: web.url } }
  await gateway.gateway.reload({
    version: 1,
    ...MAIN,
    upstreams,
    cache: false,
    shape: { maxTokens: 100_000 },
  })

  assert.equal(await readAll(client, handle), LONG)
  assert.equal(texts(await call(client, 'web__long'))[0], LONG)
})
