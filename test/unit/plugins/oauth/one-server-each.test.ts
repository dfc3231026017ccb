import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGateway, type Gateway } from '../../../../src/gateway/gateway.ts'
import type { JsonObject } from '../../../../src/plugin.ts'
import { closeAfter, testUpstream } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { loginServer } from '../../../fixtures/oauth/login-server.ts'
import { stateOf } from './vault/kit.ts'

test('a token goes to the server that its owner has logged in to, and to no other of the same host', async t => {
  const behind = closeAfter(t, await testUpstream({ tools: { whoami: () => 'here' } }))
  const server = closeAfter(t, await loginServer(behind.url))
  const gateway = await createGateway({
    version: 1,
    state: { directory: stateOf(t) },
    upstreams: {
      web: { type: 'http', url: server.url, oauth: {} },
      // The protected resource of the other one has this path in it.
      below: { type: 'http', url: `${server.url}/below`, oauth: {} },
    },
  })
  cleanup(t, () => gateway.close())
  const redirectUri = 'http://127.0.0.1:9/oauth/callback'
  const begun = await gateway.control('login.begin', { upstream: 'web', redirectUri })
  const back = await fetch(String(begun.url), { redirect: 'manual' })
  await gateway.control('login.finish', { url: back.headers.get('location') })
  await gateway.start()
  await gateway.settled()

  const client = await gateway.connect()
  assert.match(JSON.stringify(await client.request('tools/call', { name: 'web__whoami' })), /here/)
  const { state } = gateway.upstreams.get('below')?.status() ?? {}
  assert.equal(state, 'needs_auth')
})

for (const [kind, begin, more, finish] of [
  [
    'a browser',
    'login.begin',
    { redirectUri: 'http://127.0.0.1:9/oauth/callback' },
    async (gateway: Gateway, { url }: JsonObject) => {
      const back = await fetch(String(url), { redirect: 'manual' })
      return gateway.control('login.finish', { url: back.headers.get('location') })
    },
  ],
  [
    'a device code',
    'login.device',
    {},
    (gateway: Gateway, { handle }: JsonObject) => gateway.control('login.device.wait', { handle }),
  ],
] as const)
  test(`a login with ${kind} that was begun before a reload gives its token to no other server of the same name`, async t => {
    const behind = closeAfter(t, await testUpstream({ tools: { whoami: () => 'here' } }))
    const [before, after] = [await loginServer(behind.url), await loginServer(behind.url)]
    for (const server of [before, after]) closeAfter(t, server)
    const state = { directory: stateOf(t) }
    const config = ({ url }: { readonly url: string }) => ({
      version: 1,
      state,
      upstreams: { web: { type: 'http', url, oauth: {} } },
    })
    const gateway = await createGateway(config(before))
    cleanup(t, () => gateway.close())
    await gateway.start()
    const begun = await gateway.control(begin, { upstream: 'web', ...more })

    await gateway.reload(config(after))
    await assert.rejects(finish(gateway, begun), { code: 'GW_LOGIN_UNKNOWN' })

    await gateway.settled()
    assert.equal(gateway.upstreams.get('web')?.status().state, 'needs_auth')
    assert.deepEqual(
      after.tokens.filter(token => token !== undefined && before.given.includes(token)),
      [],
    )
  })
