import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { loadConfig } from 'tapgate'
import { closeAfter, testClient, testGateway, testUpstream } from 'tapgate/testing'
import { loginServer } from '../../test/fixtures/oauth/login-server.ts'

const REDIRECT = 'http://127.0.0.1:9/oauth/callback'

test('the server of the example needs a login, and answers after it', async t => {
  const behind = closeAfter(t, await testUpstream({ tools: { read: () => 'nothing was noted yet' } }))
  const server = closeAfter(t, await loginServer(behind.url))
  const config = await loadConfig({
    cwd: import.meta.dirname,
    environment: { NOTES_URL: server.url },
    set: ['listeners.main.port=0', 'state=false'],
  })
  const gateway = closeAfter(t, await testGateway({ config }))
  const client = closeAfter(t, await testClient(gateway))
  const before = await client.request('tools/call', { name: 'notes__read' })
  assert.match(String(before.error?.message), /gateway login notes/)

  const begun = await gateway.gateway.control('login.begin', {
    upstream: 'notes',
    redirectUri: REDIRECT,
  })
  const { headers } = await fetch(String(begun.url), { redirect: 'manual' })
  await gateway.gateway.control('login.finish', {
    url: headers.get('location') ?? '',
  })

  for (let tries = 0; tries < 200; tries++) {
    const { result } = await client.request('tools/call', {
      name: 'notes__read',
    })
    if (result !== undefined) return assert.match(JSON.stringify(result), /nothing was noted yet/)
    await pause(50)
  }
  assert.fail('login still required')
})
