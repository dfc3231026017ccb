import assert from 'node:assert/strict'
import { test } from 'node:test'
import { INITIALIZE, envelope } from './client.ts'
import { openOldStream, serveAll } from './network.ts'

test('a client of 2024-11-05 posts its messages and hears the answers on its stream', async t => {
  const { gate, at } = await serveAll(t)
  const client = await openOldStream(at('/sse'))

  assert.match(client.endpoint, /^\/messages\?sessionId=[\w-]{32}$/)
  assert.equal(
    await client.post({ ...INITIALIZE, params: { ...INITIALIZE.params, protocolVersion: '2024-11-05' } }),
    202,
  )
  assert.equal((await client.next())?.result.protocolVersion, '2024-11-05')
  assert.equal(await client.post({ method: 'notifications/initialized' }), 202)
  assert.equal(await client.post({ id: 'a', method: 'echo/é' }, { 'x-session-id': 'mine' }), 202)
  assert.deepEqual(await client.next(), {
    jsonrpc: '2.0',
    id: 'a',
    result: { method: 'echo/é', arguments: null },
  })
  assert.equal(gate.opened.length, 1)
  assert.equal(gate.seen[1]?.inbound.headers?.['x-session-id'], 'mine')
})

test('a message must be JSON of a known session and below the limit', async t => {
  const { at } = await serveAll(t, { limits: { body: 1000, sessions: 9, idle: '1m', connections: 9 } })
  const client = await openOldStream(at('/sse'))
  const post = async (path: string, headers: Record<string, string>): Promise<number> =>
    (await fetch(at(path), { method: 'POST', headers, body: '{}' })).status

  assert.equal(await client.post({ id: 1, method: 'x'.repeat(1000) }), 413)
  assert.equal(await client.post('{}', { 'content-type': 'text/plain' }), 415)
  assert.equal(await post('/messages', { 'content-type': 'application/json' }), 404)
  assert.equal(await post('/messages?sessionId=other', { 'content-type': 'application/json' }), 404)
  assert.equal((await fetch(at('/sse'), { headers: { accept: 'application/json' } })).status, 406)
  assert.equal((await fetch(at('/sse'), { method: 'POST' })).status, 405)
  assert.equal((await fetch(at('/messages'))).status, 405)
  assert.equal((await fetch(at('/sse'), { headers: { origin: 'https://evil.example' } })).status, 403)
  assert.equal(await client.post('{'), 202)
  assert.equal((await client.next())?.error.code, -32700)
})

test('the modern era does not travel over HTTP+SSE', async t => {
  const { at } = await serveAll(t)
  const client = await openOldStream(at('/sse'))

  await client.post({ id: 'p', method: 'server/discover', params: { _meta: envelope() } })
  assert.equal((await client.next())?.error.code, -32600)
  await client.post(INITIALIZE)
  assert.equal((await client.next())?.result.protocolVersion, '2025-06-18')
})
