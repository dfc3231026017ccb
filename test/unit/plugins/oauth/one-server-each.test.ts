import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGateway } from '../../../../src/gateway/gateway.ts'
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
