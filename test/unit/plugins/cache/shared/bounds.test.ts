import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isShared } from '../../../../../plugins/cache/shared/upstream-share.ts'
import type { UpstreamConfig } from '../../../../../src/plugin.ts'
import { call, clientOf, Common, configFor, counted, given, over, report } from './setting.ts'

test('sessions, and processes of each machine, share nothing', async t => {
  const web = await counted(t)
  const common = new Common()
  const tools = { web__look: { ttl: '1h', vary: ['session'] } }
  for (const more of [{ cache: { tools, lists: 0 } }, { upstream: { isolation: 'session' } }]) {
    const before = web.asked('look')
    for (let number = 0; number < 2; number++) {
      const one = await over(t, common, configFor(web, more))
      assert.match(await call(await clientOf(t, one, {}, 'legacy')), /^look/)
      const { writes, hits } = await report(one)
      assert.deepEqual({ writes, hits }, { writes: 0, hits: 0 })
    }
    assert.equal(web.asked('look'), before + 2)
  }
  const local = (more: object): UpstreamConfig =>
    ({ type: 'stdio', command: 'x', isolation: 'shared', ...more }) as unknown as UpstreamConfig
  assert.equal(isShared(local({})), false)
  assert.equal(isShared(local({ cache: { shared: true } })), true, 'its owner says that they are the same')
  assert.equal(isShared(local({ cache: { shared: true }, isolation: 'session' })), false)
})

test('a call asks the store where its own memory does not answer, and only then', async t => {
  const web = await counted(t)
  const common = new Common()
  const asked = { look: 0, put: 0 }
  const one = await over(t, common, configFor(web), store => ({
    ...store,
    look: key => {
      asked.look++
      return store.look(key)
    },
    put: (key, value, options) => {
      asked.put++
      return store.put(key, value, options)
    },
  }))
  const near = await clientOf(t, one)
  await near.request('tools/list', {})
  await call(near, 'look', { id: 1 })
  await given(one, 2)
  Object.assign(asked, { look: 0, put: 0 })

  for (let number = 0; number < 20; number++) assert.equal(await call(near, 'look', { id: 1 }), 'look 1')
  assert.deepEqual(asked, { look: 0, put: 0 })
  await call(near, 'look', { id: 2 })
  await given(one, 3)
  assert.deepEqual(asked, { look: 2, put: 1 }, 'its version and its place, and then the answer')
})
