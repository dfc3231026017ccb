import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { test } from 'node:test'
import { serveAlone } from '../../../../plugins/ui/own-server.ts'
import type { JsonObject } from '../../../../src/protocol/json/json.ts'
import { closeAfter, testClient, testGateway, testUpstream } from '../../../../src/testing/index.ts'
import { cleanup } from '../../../fixtures/cleanup.ts'
import { open } from './setting.ts'

test('a command serves the page of a gateway that has none, with all that its verbs tell', async t => {
  const web = closeAfter(t, await testUpstream({ tools: { echo: () => 'x' } }))
  const { gateway, url } = closeAfter(t, await testGateway({ upstreams: { web } }))
  await closeAfter(t, await testClient(url)).request('tools/list', {})
  const served = await serveAlone(
    (verb, params) => gateway.control(verb, params),
    gateway.generation.loaded.config,
  )
  cleanup(t, () => served.close())
  const { ask, json } = await open(served.url)
  assert.equal((await json('session')).acts, true)
  const { servers } = await json('overview')
  assert.deepEqual(
    (servers as JsonObject[]).map(({ name, state }) => [name, state]),
    [['web', 'ready']],
  )
  assert.deepEqual(
    ((await json('tools')).tools as JsonObject[]).map(({ name }) => name),
    ['web__echo'],
  )
  await json('server', { name: 'web', action: 'stop' })
  assert.equal(gateway.upstreams.get('web')?.status().state, 'stopped')
  assert.equal((await ask('run', { method: 'POST' })).status, 404)
  const page = await fetch(new URL('page.js', served.url))
  assert.match(String(page.headers.get('content-security-policy')), /frame-ancestors 'none'/)
  assert.equal((await fetch(new URL('api/overview', served.url))).status, 401)
  assert.equal((await fetch(new URL('/', served.url))).status, 404)
  const { port } = new URL(served.url)
  const headers = { host: `evil.example:${port}` }
  const status = await new Promise(resolve => {
    httpRequest({ host: '127.0.0.1', port, path: '/ui/', headers }, response => {
      response.resume()
      resolve(response.statusCode)
    }).end()
  })
  assert.equal(status, 403)
})
