import assert from 'node:assert/strict'
import { test } from 'node:test'
import { result } from './fake-gate.ts'
import { modern, openStream, send, serve } from './client.ts'
import { HandClock } from '../../fixtures/hand-clock.ts'

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

test('the status of an error answer follows its code', async t => {
  const { gate, url } = await serve(t)
  const statuses: number[] = []

  for (const code of [-32601, -32021, -32602, -32603, 1]) {
    gate.answering = () => ({ error: { code, message: 'no' } })
    statuses.push((await send(url, modern('tools/list'))).status)
  }

  assert.deepEqual(statuses, [404, 400, 200, 200, 200])
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
