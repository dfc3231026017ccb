import assert from 'node:assert/strict'
import { test } from 'node:test'
import { closeAfter, testGateway, testUpstream } from '../../../src/testing/index.ts'
import { byToken, from, rest } from '../fixtures/by-token.ts'

function tenant(who: string, name: string | undefined): RequestInit {
  const init = from(who, rest('web__say'))
  const headers = init.headers as Headers
  if (name !== undefined) headers.set('x-tenant', name)
  headers.set('x-other', 'stays here')
  headers.set('cookie', 'stays=here')
  return init
}

for (const era of ['modern', 'legacy'] as const)
  test(`only the headers that are listed go on, to a ${era} server`, async t => {
    const web = closeAfter(
      t,
      await testUpstream({ era, tools: { say: (_args, { headers }) => headers['x-tenant'] ?? 'nobody' } }),
    )
    const upstreams = { web: { type: 'http', url: web.url, forwardHeaders: ['X-Tenant'] } }
    const config = { upstreams, rest: {}, cache: { tools: { web__say: { ttl: '1m' } } } }
    const { url } = closeAfter(t, await testGateway({ config, plugins: [byToken] }))
    const said = async (who: string, name?: string): Promise<string> =>
      (await fetch(new URL('/tools/call', url), tenant(who, name))).text()

    const asked = [
      ['ann', 'red'],
      ['ann', 'blue'],
      ['bob', 'red'],
      ['ann', 'red'],
    ] as const
    for (const [who, name] of asked) assert.match(await said(who, name), new RegExp(`"${name}"`))
    assert.match(await said('ann'), /"nobody"/)

    const calls = web.listCalls('tools/call')
    assert.equal(calls.length, 4, 'the last of the same caller and tenant was kept')
    const sent = JSON.stringify(web.calls.map(({ headers }) => headers))
    assert.doesNotMatch(sent, /stays|Bearer/)
    const sessions = new Set(calls.map(({ headers }) => headers['mcp-session-id']))
    assert.equal(sessions.size, era === 'legacy' ? 4 : 1, 'no session is shared')
  })
