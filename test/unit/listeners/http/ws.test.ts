import assert from 'node:assert/strict'
import { test } from 'node:test'
import { request } from 'node:http'
import { once } from 'node:events'
import { INITIALIZE, JSON_HEADERS } from './client.ts'
import { result } from './fake-gate.ts'
import { openOldStream, refused, serveAll, talk } from './network.ts'
import { until } from '../../../fixtures/until.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

test('a client that closes its WebSocket cancels what it waits for', async t => {
  const { gate, at } = await serveAll(t)
  const client = await talk(at('/ws'))
  const slow = gate.next('slow/one')
  client.send({ id: 1, method: 'slow/one' })
  const seen = await slow

  client.socket.close()

  await seen.cancelled
  await client.closed
})

test('binary frames end the connection, and so does a message above the limit', async t => {
  const { gate, at } = await serveAll(t, { limits: { body: 1000, sessions: 9, idle: '1m', connections: 9 } })
  const binary = await talk(at('/ws'))
  binary.socket.send(Buffer.from('{"jsonrpc":"2.0","id":1,"method":"echo/x"}'))
  const large = await talk(at('/ws'))
  large.send({ id: 1, method: 'echo/x', params: { text: 'x'.repeat(1000) } })

  assert.deepEqual(await binary.closed, [1003, 'one JSON-RPC message per text frame'])
  assert.equal((await large.closed)[0], 1009)
  assert.equal(gate.seen.length, 0)
})

test('a WebSocket passes the same guards as any request', async t => {
  const { gate, at } = await serveAll(t)

  assert.equal(await refused(at('/ws'), { headers: { host: 'evil.example' } }), 403)
  assert.equal(await refused(at('/ws'), { origin: 'https://evil.example' }), 403)
  assert.equal(await refused(at('/mcp')), 404)
  assert.equal(await refused(at('/ws'), {}, []), 400)
  assert.equal(await refused(at('/ws'), {}, ['chat']), 400)
  assert.equal((await fetch(at('/ws'))).status, 426)
  assert.equal(gate.opened.length, 0)
  const own = await talk(at('/ws'), { origin: 'http://localhost:3000' })
  own.socket.close()
})

test('WebSockets and sessions share one limit', async t => {
  const { at } = await serveAll(t, { limits: { body: 1000, sessions: 1, idle: '1m', connections: 9 } })
  const first = await talk(at('/ws'))

  assert.equal(await refused(at('/ws')), 503)
  assert.equal((await fetch(at('/sse'))).status, 503)
  const hello = { method: 'POST', headers: JSON_HEADERS, body: JSON.stringify(INITIALIZE) }
  assert.equal((await fetch(at('/mcp'), hello)).status, 503)
  first.socket.close()
  await first.closed
})

test('an offer to upgrade to something else is passed over', { skip: !canPassOver() }, async t => {
  const { at } = await serveAll(t)
  const url = at('/mcp')
  const body = JSON.stringify(INITIALIZE)
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    connection: 'Upgrade, HTTP2-Settings',
    upgrade: 'h2c',
    'http2-settings': '',
  }
  const asked = request({ host: url.hostname, port: url.port, path: url.pathname, method: 'POST', headers })
  asked.end(body)
  const [response] = (await once(asked, 'response')) as [{ statusCode: number; resume(): void }]
  response.resume()

  assert.equal(response.statusCode, 200)
})

function canPassOver(): boolean {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  return major > 24 || (major === 24 && minor >= 9)
}

test('a conversation in which nothing happens ends after limits.idle, one that waits for an answer does not', async t => {
  const limits = { body: '4MiB', sessions: 10, idle: '150ms', connections: 64 }
  const clock = new HandClock()
  const { gate, at } = await serveAll(t, { limits }, clock)
  const [idle, busy] = [await talk(at('/ws')), await talk(at('/ws'))]
  const slow = gate.next('slow/one')
  busy.send({ id: 1, method: 'slow/one' })
  const seen = await slow
  idle.send(INITIALIZE)
  await idle.next()
  const stream = await openOldStream(at('/sse'))

  let isOver = false
  const over = Promise.all([idle.closed, stream.next()]).finally(() => (isOver = true))
  await until(() => {
    clock.pass(50)
    return isOver
  }, 'both have ended')
  assert.equal((await over)[1], undefined)
  seen.resolve(result({}))

  assert.equal((await busy.next())?.id, 1)
  assert.deepEqual(
    gate.closed.map(({ reason }) => reason),
    ['idle'],
  )
})
