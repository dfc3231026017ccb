import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseLegacyClient } from '../../../../src/listeners/client/client-protocol.ts'
import { SessionQuota } from '../../../../src/listeners/http/open-connections.ts'
import { ANONYMOUS, type Principal } from '../../../../src/plugin.ts'
import { LegacySessions } from '../../../../src/listeners/http/mcp/legacy-sessions.ts'
import { FakeGate, log, realClock, result } from './fake-gate.ts'
import { INITIALIZE, initialize, JSON_HEADERS, legacy, openStream, send, serve } from './client.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

test('the newest GET stream gets what belongs to no request', async t => {
  const { gate, url } = await serve(t)
  const session = await initialize(url)
  const headers = { accept: 'text/event-stream', 'mcp-session-id': session }
  const unheard = gate.opened[0]?.notify({ method: 'notifications/x', params: undefined })
  const first = await openStream(url, { method: 'GET', headers })
  const second = await openStream(url, { method: 'GET', headers })

  const heard = gate.opened[0]?.notify({ method: 'notifications/y', params: { a: 1 } })

  assert.equal(unheard, false)
  assert.equal(heard, true)
  assert.equal(await first.next(), undefined)
  assert.deepEqual(await second.next(), { jsonrpc: '2.0', method: 'notifications/y', params: { a: 1 } })
})

test('GET and DELETE without a session are not allowed, and of an unknown one not found', async t => {
  const { url } = await serve(t)

  for (const method of ['GET', 'DELETE']) {
    const bare = await send(url, { method })
    const unknown = await send(url, { method, headers: { 'mcp-session-id': 'x' } })
    assert.deepEqual(
      [bare.status, bare.headers.allow, unknown.status, unknown.json.error.code],
      [405, 'POST', 404, -32001],
    )
  }
})

test('DELETE ends the session, its stream and its requests', async t => {
  const { gate, url } = await serve(t)
  const session = await initialize(url)
  const stream = await openStream(url, { method: 'GET', headers: { 'mcp-session-id': session } })
  const next = gate.next('slow/call')
  const answer = send(url, legacy(session, { id: 1, method: 'slow/call' }))
  const seen = await next

  const deleted = await send(url, { method: 'DELETE', headers: { 'mcp-session-id': session } })
  const after = await send(url, legacy(session, { id: 2, method: 'tools/list' }))

  assert.equal(deleted.status, 204)
  assert.equal(await stream.next(), undefined)
  assert.equal(seen.reason, 'deleted')
  assert.equal((await answer).status, 200)
  assert.equal(after.status, 404)
  assert.deepEqual(
    gate.closed.map(({ reason }) => reason),
    ['deleted'],
  )
})

test('an idle session expires, one with a stream or a running request does not', async t => {
  const clock = new HandClock()
  const { gate, url } = await serve(t, { limits: { body: '4MiB', sessions: 10, idle: '10m', connections: 64 } }, clock)
  const idle = await initialize(url)
  const streaming = await initialize(url)
  const busy = await initialize(url)
  const stream = await openStream(url, { method: 'GET', headers: { 'mcp-session-id': streaming } })
  const next = gate.next('slow/call')
  const answer = send(url, legacy(busy, { id: 1, method: 'slow/call' }))
  const seen = await next

  clock.pass(600_000)
  const statuses = await Promise.all(
    [idle, streaming, busy].map(session => send(url, legacy(session, { id: 2, method: 'tools/list' }))),
  )
  seen.resolve(result({}))
  await answer
  stream.destroy()

  assert.deepEqual(
    statuses.map(({ status }) => status),
    [404, 200, 200],
  )
  assert.deepEqual(
    gate.closed.map(({ reason }) => reason),
    ['idle'],
  )
})

test('when the table is full a client is asked to come back, and expired sessions make room', async t => {
  const clock = new HandClock()
  const { url } = await serve(t, { limits: { body: '4MiB', sessions: 1, idle: '10m', connections: 64 } }, clock)
  await initialize(url)

  const full = await send(url, { headers: JSON_HEADERS, body: JSON.stringify(INITIALIZE) })
  clock.pass(600_000)
  const again = await send(url, { headers: JSON_HEADERS, body: JSON.stringify(INITIALIZE) })

  assert.equal(full.status, 503)
  assert.ok(Number(full.headers['retry-after']) > 0)
  assert.equal(again.status, 200)
})

test('one caller cannot take the sessions of all', async () => {
  const gate = new FakeGate()
  const sessions = new LegacySessions({
    name: 'main',
    gate,
    clock: realClock,
    log,
    max: () => 5,
    quota: new SessionQuota(2),
    idleMs: () => 1000,
  })
  const named = (subject: string) => ({ issuer: 'i', client: 'c', subject, scopes: [] })
  const client = parseLegacyClient(undefined)
  const open = (principal: Principal) => sessions.open({ client, principal })
  // Sessions that are being opened count as well.
  const [first, second, third] = await Promise.all([open(named('ann')), open(named('ann')), open(named('ann'))])

  assert.deepEqual([typeof first, typeof second, third], ['object', 'object', 'own'])
  gate.opening = () => Promise.reject(new Error('refused'))
  await assert.rejects(open(named('bob')))
  gate.opening = () => Promise.resolve()
  assert.equal(sessions.size, 2)
  if (typeof first === 'object') sessions.end(first, 'deleted')
  assert.equal(typeof (await open(named('ann'))), 'object')
  assert.equal(await open(named('ann')), 'own')
  // Those whom nobody asked who they are share the limit of all.
  const anybody = await Promise.all([1, 2, 3].map(() => open(ANONYMOUS)))
  assert.deepEqual(
    anybody.map(session => typeof session),
    ['object', 'object', 'object'],
  )
  assert.equal(await open(ANONYMOUS), 'all')
  sessions.endAll('over')
})

test('a reader that does not read misses news, and is cut when it has taken nothing for limits.unread', async t => {
  const clock = new HandClock()
  const { gate, url } = await serve(t, {}, clock)
  const session = await initialize(url)
  const { response, ended } = await openStream(url, { method: 'GET', headers: { 'mcp-session-id': session } })
  response.pause()
  const notification = { method: 'notifications/x', params: { text: 'x'.repeat(512 * 1024) } }
  let told = true

  for (let count = 0; told && count < 200; count++) {
    told = gate.opened[0]?.notify(notification) ?? false
    await new Promise(resolve => setImmediate(resolve))
  }
  assert.equal(told, false)
  assert.equal(response.destroyed, false)
  clock.pass(40_000)
  await new Promise(resolve => setImmediate(resolve))
  response.resume()
  await ended

  assert.equal(gate.opened[0]?.notify(notification), false)
})

test('a stop ends streams and idle connections at once, and lets a running request finish', async t => {
  const { gate, listener, url } = await serve(t)
  const session = await initialize(url)
  const stream = await openStream(url, { method: 'GET', headers: { 'mcp-session-id': session } })
  const next = gate.next('slow/call')
  const answer = send(url, legacy(session, { id: 1, method: 'slow/call' }))
  const seen = await next

  const stopped = listener.stop(5000)
  const ended = await stream.next()
  const refused = await send(url, legacy(session, { id: 2, method: 'ping' })).catch(
    (error: unknown) => (error as NodeJS.ErrnoException).code,
  )
  seen.resolve(result({ late: true }))
  const got = await answer
  await stopped

  assert.equal(ended, undefined)
  assert.equal(refused, 'ECONNREFUSED')
  assert.deepEqual(got.json.result, { late: true })
  assert.deepEqual(
    gate.closed.map(({ reason }) => reason),
    ['shutdown'],
  )
})
