import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/plugin.ts'
import { closeAfter, testGateway } from '../../../../src/testing/index.ts'
import { hashOf } from '../../rules/keys.ts'

const LISTENER = { type: 'http', port: 0, publicUrl: 'https://gw.example.com', allowedHosts: ['127.0.0.1'] }
const WEB = { type: 'http', url: 'http://127.0.0.1:9/mcp' }

test('the client metadata document is served to everybody, and names its own address as the client id', async t => {
  const config = {
    listeners: { main: LISTENER },
    auth: { keys: [{ name: 'ci', hash: hashOf('secret') }] },
    upstreams: { web: { ...WEB, oauth: {} } },
  }
  const { url } = closeAfter(t, await testGateway({ config }))

  const reply = await fetch(new URL('/oauth/client.json', url))

  assert.equal(reply.status, 200)
  const document = (await reply.json()) as JsonObject
  assert.equal(document.client_id, 'https://gw.example.com/oauth/client.json')
  assert.deepEqual(document.redirect_uris, ['https://gw.example.com/oauth/callback'])
  assert.equal(document.token_endpoint_auth_method, 'none')
  assert.equal((await fetch(url, { method: 'POST' })).status, 401, 'nothing else is open')
})

test('without an upstream that logs in, or without a public URL, there is no such document', async t => {
  const without = closeAfter(
    t,
    await testGateway({ config: { listeners: { main: LISTENER }, upstreams: { web: WEB } } }),
  )
  const local = closeAfter(t, await testGateway({ config: { upstreams: { web: { ...WEB, oauth: {} } } } }))

  for (const { url } of [without, local]) assert.equal((await fetch(new URL('/oauth/client.json', url))).status, 404)
})
