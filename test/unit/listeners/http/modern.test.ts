import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Payload } from '../../../../src/protocol/payload.ts'
import { result } from './fake-gate.ts'
import { envelope, JSON_HEADERS, modern, openStream, send, serve } from './client.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

test('a modern request is answered as JSON, in a conversation of its own', async t => {
  const { gate, url } = await serve(t)

  const got = await send(url, modern('tools/call', { name: 'echo', arguments: { a: 1 } }, 'one'))

  assert.equal(got.status, 200)
  assert.equal(got.headers['content-type'], 'application/json')
  assert.equal(got.headers['content-length'], String(Buffer.byteLength(got.text)))
  assert.deepEqual(got.json, {
    jsonrpc: '2.0',
    id: 'one',
    result: { resultType: 'complete', method: 'tools/call', arguments: { a: 1 } },
  })
  assert.equal(gate.opened[0]?.client.era, 'modern')
  assert.equal(gate.opened[0]?.client.info.name, 'test')
  assert.equal(gate.opened[0]?.principal.subject, 'anonymous')
  assert.equal(gate.closed[0]?.session, gate.opened[0])
})

test('what is said on the way turns the answer into an event stream', async t => {
  const { gate, url } = await serve(t)
  gate.answering = seen => {
    seen.emit('notifications/progress', { progress: 1, progressToken: 'p' })
    return { result: Payload.fromBytes(Buffer.from('{\n"content": []\r\n}')) }
  }

  const got = await send(url, modern('tools/call', { name: 'x' }))

  assert.equal(got.headers['content-type'], 'text/event-stream')
  assert.equal(got.headers['x-accel-buffering'], 'no')
  assert.equal(got.events.length, 2)
  assert.equal(got.events[0]?.method, 'notifications/progress')
  assert.deepEqual(got.events[1], { jsonrpc: '2.0', id: 1, result: { resultType: 'complete', content: [] } })
})

test('a client that takes JSON only gets JSON, and one that takes events only gets events', async t => {
  const { gate, url } = await serve(t)
  gate.answering = seen => {
    seen.emit('notifications/progress', { progress: 1 })
    return result({})
  }
  const { headers, body } = modern('tools/list')

  const json = await send(url, { headers: { ...headers, accept: 'application/json' }, body })
  gate.answering = () => result({})
  const events = await send(url, { headers: { ...headers, accept: 'text/event-stream' }, body })
  const none = await send(url, { headers: { ...headers, accept: 'text/html' }, body })

  assert.equal(json.json.id, 1)
  assert.equal(events.events[0]?.id, 1)
  assert.equal(none.status, 406)
})

test('a broken envelope, headers that contradict it, unknown versions and removed methods are refused in that order', async t => {
  const { gate, url } = await serve(t)
  const ask = async (params: object, headers: Record<string, string>, method = 'tools/call') => {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method, params })
    const { status, json } = await send(url, { headers: { ...JSON_HEADERS, ...headers }, body })
    return [status, json.error.code, json.id]
  }
  const good = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'x' }
  const params = { name: 'x', _meta: envelope() }

  assert.deepEqual(
    await ask({ _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } }, good),
    [400, -32602, 7],
  )
  assert.deepEqual(await ask({ name: 'x' }, good), [400, -32602, 7])
  assert.deepEqual(await ask(params, { ...good, 'mcp-protocol-version': '2025-11-25' }), [400, -32020, 7])
  assert.deepEqual(await ask(params, { ...good, 'mcp-name': 'y' }), [400, -32020, 7])
  assert.deepEqual(await ask(params, { 'mcp-protocol-version': '2026-07-28' }), [400, -32020, 7])
  assert.deepEqual(
    await ask({ _meta: envelope({}, '2099-01-01') }, { 'mcp-protocol-version': '2099-01-01' }),
    [400, -32022, 7],
  )
  assert.deepEqual(await ask({ _meta: envelope() }, { ...good, 'mcp-method': 'ping' }, 'ping'), [404, -32601, 7])
  assert.deepEqual(
    await ask({ _meta: envelope() }, { ...good, 'mcp-method': 'initialize' }, 'initialize'),
    [404, -32601, 7],
  )
  assert.equal(gate.seen.length, 0)
})

test('the status of an error answer follows its code', async t => {
  const { gate, url } = await serve(t)
  const statuses: number[] = []

  for (const code of [-32601, -32021, -32602, -32603, 1]) {
    gate.answering = () => ({ error: { code, message: 'no' } })
    statuses.push((await send(url, modern('tools/list'))).status)
  }

  assert.deepEqual(statuses, [404, 400, 200, 200, 200])
})

test('a client that goes away cancels its request', async t => {
  const { gate, url } = await serve(t)
  const { headers, body } = modern('slow/call')
  const next = gate.next('slow/call')
  const controller = new AbortController()
  const fetched = fetch(url, { method: 'POST', headers, body, signal: controller.signal }).catch(() => undefined)
  const seen = await next

  controller.abort()

  assert.match(await seen.cancelled, /closed the connection/)
  await fetched
})

test('headers go with the request, but never what identifies or authorises', async t => {
  const { gate, url } = await serve(t, {}, undefined, { sessionHeaders: { header: 'X-Chat', upstreams: [] } })
  const { headers, body } = modern('tools/list')
  const more = {
    'X-Session-ID': 's',
    Traceparent: 't',
    'Mcp-Param-Region': 'eu',
    'X-Chat': 'c',
    Authorization: 'Bearer x',
    Cookie: 'y',
    'Mcp-Session-Id': 'z',
    'X-Api-Key': 'k',
  }

  await send(url, { headers: { ...headers, ...more }, body })

  assert.deepEqual(
    { ...gate.seen[0]?.inbound.headers },
    {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/list',
      'x-session-id': 's',
      traceparent: 't',
      'mcp-param-region': 'eu',
      'x-chat': 'c',
    },
  )
})

test('a listen is stamped with its id, kept alive, and ends gracefully when the listener stops', async t => {
  const clock = new HandClock()
  const { gate, listener, url } = await serve(t, {}, clock)
  const next = gate.next('subscriptions/listen')
  const opening = openStream(url, modern('subscriptions/listen', { notifications: {} }, 'L1'))
  const seen = await next
  seen.emit('notifications/subscriptions/acknowledged', { notifications: {} })
  const stream = await opening
  const key = 'io.modelcontextprotocol/subscriptionId'

  const ack = await stream.next()
  clock.pass(15_000)
  const comment = await stream.comment()
  seen.emit('notifications/tools/list_changed')
  const changed = await stream.next()
  const stopped = listener.stop(1000)
  const last = await stream.next()
  await stopped

  assert.equal(ack?.params._meta[key], 'L1')
  assert.equal(comment, ':')
  assert.equal(changed?.params._meta[key], 'L1')
  assert.deepEqual(last, {
    jsonrpc: '2.0',
    id: 'L1',
    result: { resultType: 'complete', _meta: { [key]: 'L1' } },
  })
  assert.equal(seen.reason, 'shutdown')
})

test('a session that a plugin refuses is an error without our internals', async t => {
  const { gate, url } = await serve(t)
  gate.opening = async () => {
    throw new Error('/secret/path')
  }

  const got = await send(url, modern('tools/list'))

  assert.equal(got.status, 500)
  assert.equal(got.json.id, 1)
  assert.doesNotMatch(got.text, /secret/)
})
