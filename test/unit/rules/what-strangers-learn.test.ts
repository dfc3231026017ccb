import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plugin } from '../../../src/plugin.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../src/testing/index.ts'
import { hashOf } from './keys.ts'

const KEYS = [
  { name: 'boss', hash: hashOf('boss') },
  { name: 'ci', hash: hashOf('ci') },
]
const HIDING = {
  'a rule of access': { auth: { keys: KEYS, rules: [{ upstreams: 'hidden', principals: ['boss'] }] } },
  'a filter': { auth: { keys: KEYS }, filters: { tools: { deny: ['hidden__*'] } } },
  'a profile': {
    auth: { keys: KEYS },
    profiles: { all: { principals: ['boss'] }, default: { upstreams: ['open', 'quiet'] } },
  },
}

for (const [name, config] of Object.entries(HIDING))
  test(`a client is told nothing of a server that ${name} hides`, async t => {
    const tools = { run: () => 'x' }
    const hidden = closeAfter(t, await testUpstream({ tools, instructions: 'the launch codes' }))
    const open = closeAfter(t, await testUpstream({ tools, instructions: 'be kind' }))
    const quiet = closeAfter(t, await testUpstream({ tools }))
    const gateway = closeAfter(t, await testGateway({ upstreams: { hidden, open, quiet }, config }))
    const told = async (who: string, era: 'modern' | 'legacy') => {
      const client = closeAfter(t, await testClient(gateway, { era, headers: { authorization: `Bearer ${who}` } }))
      const { result } = era === 'legacy' ? (client.initializeReply ?? {}) : await client.request('server/discover')
      return result?.instructions
    }
    for (const era of ['modern', 'legacy'] as const) {
      assert.equal(await told('ci', era), '# open\nbe kind')
      if (name !== 'a filter') assert.equal(await told('boss', era), '# hidden\nthe launch codes\n\n# open\nbe kind')
    }
  })

test('who is not known learns from /readyz whether we can serve, and no names', async t => {
  const tools = { run: () => 'x' }
  const hidden = closeAfter(t, await testUpstream({ tools }))
  const open = closeAfter(t, await testUpstream({ tools }))
  const refused: unknown[] = []
  const watch: Plugin = {
    name: 'watch',
    setup: ({ hooks }) => hooks.auditEvent.tap(event => void (event.kind === 'refused' && refused.push(event))),
  }
  const gateway = closeAfter(
    t,
    await testGateway({ upstreams: { hidden, open }, config: HIDING['a rule of access'], plugins: [watch] }),
  )
  const ready = async (key?: string) => {
    const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
    const response = await fetch(new URL('/readyz', gateway.url), { headers })
    return [response.status, await response.json()]
  }
  const state = { state: 'ready' }
  assert.deepEqual(await ready(), [200, { ready: true }])
  assert.deepEqual(await ready('wrong'), [200, { ready: true }])
  assert.deepEqual(await ready('ci'), [200, { ready: true, upstreams: { open: state } }])
  assert.deepEqual(await ready('boss'), [200, { ready: true, upstreams: { hidden: state, open: state } }])
  assert.deepEqual(refused, [])
})
