import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as passed } from 'node:timers/promises'
import { createGateway } from '../../../src/gateway/gateway.ts'
import { closeAfter, testUpstream } from '../../../src/testing/index.ts'
import { createLog } from '../../../src/util/log.ts'
import { cleanup } from '../../fixtures/cleanup.ts'
import { loginServer } from '../../fixtures/oauth/login-server.ts'

test('a server that needs a login is in that state, however many call, and starts with the login', async t => {
  const behind = closeAfter(t, await testUpstream({ tools: { whoami: () => 'here' } }))
  const server = closeAfter(t, await loginServer(behind.url))
  const lines: string[] = []
  const log = createLog({ level: 'info', format: 'json', write: text => void lines.push(text) })
  const gateway = await createGateway(
    {
      version: 1,
      listeners: { main: { type: 'http', port: 0 } },
      metrics: {},
      upstreams: { web: { type: 'http', url: server.url, oauth: {} } },
    },
    { log },
  )
  cleanup(t, () => gateway.close())
  const states: string[] = []
  gateway.on('state', ({ state }) => void states.push(state))
  await gateway.start()
  await gateway.settled()

  const client = await gateway.connect()
  const call = (): Promise<string> =>
    client.request('tools/call', { name: 'web__whoami' }).then(result => JSON.stringify(result), String)
  await Promise.all(Array.from({ length: 20 }, call))
  const status = gateway.upstreams.get('web')?.status()
  assert.equal(status?.state, 'needs_auth')
  assert.equal(status.problem, 'not logged in. Run: gateway login web.')
  assert.equal(status.runtime?.restarts, 0)
  assert.equal((await gateway.inspect()).upstreams[0]?.state, 'needs_auth')
  assert.deepEqual(states, ['starting', 'needs_auth'])
  assert.equal(lines.filter(line => line.includes('upstream requires a login')).length, 1)
  assert.ok(server.tokens.length < 5, 'callers do not make it ask again and again')
  const page = await (await fetch(new URL('/metrics', gateway.listeners[0]?.url))).text()
  assert.match(page, /tapgate_upstream_state\{upstream="web",state="needs_auth"\} 1/)
  assert.match(page, /tapgate_upstream_up\{upstream="web"\} 0/)

  await client.request('prompts/list')
  const redirectUri = 'http://127.0.0.1:9/oauth/callback'
  const begun = await gateway.control('login.begin', { upstream: 'web', redirectUri })
  const back = await fetch(String(begun.url), { redirect: 'manual' })
  await gateway.control('login.finish', { url: back.headers.get('location') })
  while (gateway.upstreams.get('web')?.status().state !== 'ready') await passed(20)
  assert.match(await call(), /here/)
  const { findings } = (await gateway.control('health')) as { findings: readonly { code: string }[] }
  assert.deepEqual(findings, [], 'what was wrong before the login is not said after it')
  for (const token of server.given) assert.ok(lines.every(line => !line.includes(token)))
})
