import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createGateway } from '../../../../src/gateway/gateway.ts'
import { closeAfter, testUpstream } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { loginServer, type LoginServer } from '../../../fixtures/oauth/login-server.ts'
import { REDIRECT, scene } from './scene.ts'
import { stateOf } from './vault/kit.ts'

test('a token goes to the server that its owner has logged in to, and to no other of the same host', async t => {
  // The protected resource of the other one has this path in it.
  const below = ({ url }: LoginServer): object => ({
    below: { type: 'http', url: `${url}/below`, oauth: {} },
  })
  const { gateway, logIn, call } = await scene(t, undefined, below)
  await logIn()
  await gateway.start()
  await gateway.settled()

  assert.match(await call(), /paid/)
  const { state } = gateway.upstreams.get('below')?.status() ?? {}
  assert.equal(state, 'needs_auth')
})

test('a login that was begun before a reload gives its token to no other server of the same name', async t => {
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
  const begun = await gateway.control('login.begin', { upstream: 'web', redirectUri: REDIRECT })

  await gateway.reload(config(after))
  const { headers } = await fetch(String(begun.url), { redirect: 'manual' })
  const finish = gateway.control('login.finish', { url: headers.get('location') })
  await assert.rejects(finish, { code: 'GW_LOGIN_UNKNOWN' })

  await gateway.settled()
  assert.equal(gateway.upstreams.get('web')?.status().state, 'needs_auth')
  assert.deepEqual(
    after.tokens.filter(token => token !== undefined && before.given.includes(token)),
    [],
  )
})
