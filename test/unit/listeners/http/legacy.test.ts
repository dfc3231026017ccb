import assert from 'node:assert/strict'
import { test } from 'node:test'
import { INITIALIZE, initialize, JSON_HEADERS, legacy, send, serve, type Message } from './client.ts'

const { id: _id, jsonrpc: _jsonrpc, ...INIT } = INITIALIZE

test('initialize opens a session whose id is long and in the answer', async t => {
  const { gate, url } = await serve(t)

  const got = await send(url, { headers: JSON_HEADERS, body: JSON.stringify(INITIALIZE) })

  assert.equal(got.status, 200)
  assert.match(got.headers['mcp-session-id'] as string, /^[\w-]{22,}$/)
  assert.equal(got.json.result.protocolVersion, '2025-06-18')
  assert.equal(gate.opened[0]?.client.version, '2025-06-18')
  assert.equal(gate.opened[0]?.client.info.name, 'old')
})

test('an initialize that the road refuses leaves no session behind', async t => {
  const { gate, url } = await serve(t)
  gate.answering = () => ({ error: { code: -32603, message: 'no' } })

  const got = await send(url, { headers: JSON_HEADERS, body: JSON.stringify(INITIALIZE) })

  assert.equal(got.json.error.code, -32603)
  assert.equal(got.headers['mcp-session-id'], undefined)
  assert.equal(gate.closed.length, 1)
})

test('a cancellation needs strictly the same id, and the same session', async t => {
  const { gate, url } = await serve(t)
  const session = await initialize(url)
  const other = await initialize(url)
  const next = gate.next('slow/call')
  const answer = send(url, legacy(session, { id: 1, method: 'slow/call' }))
  const seen = await next
  const cancel = (who: string, requestId: unknown) =>
    send(url, legacy(who, { method: 'notifications/cancelled', params: { requestId, reason: 'enough' } }))

  await cancel(session, '1')
  await cancel(other, 1)
  const before = seen.reason
  await cancel(session, 1)

  assert.equal(before, undefined)
  assert.equal(seen.reason, 'enough')
  assert.equal((await answer).json.id, 1)
})

test('a batch is answered with an array', async t => {
  const { url } = await serve(t)
  const session = await initialize(url)
  const { headers } = legacy(session, {})
  const batch = (messages: object[]) =>
    send(url, { headers, body: JSON.stringify(messages.map(message => ({ jsonrpc: '2.0', ...message }))) })
  const two = [
    { id: 1, method: 'tools/list' },
    { method: 'notifications/x' },
    { id: '1', method: 'prompts/list' },
    { id: null, method: 'x' },
  ]

  const array = await batch(two)
  const quiet = await batch([{ method: 'notifications/x' }])

  assert.deepEqual(new Set((array.json as unknown as Message[]).map(({ id }) => id)), new Set([1, '1', null]))
  assert.equal(quiet.status, 202)
})

test('a batch with an initialize, a modern message, nothing or too much in it is refused whole', async t => {
  const { gate, url } = await serve(t)
  const session = await initialize(url)
  const { headers } = legacy(session, {})
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
  const modern = { ...ping, params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } } }
  const bodies = [
    [{ jsonrpc: '2.0', id: 5, ...INIT }],
    [ping, modern],
    [],
    Array.from({ length: 101 }, (_, id) => ({ ...ping, id })),
  ].map(body => JSON.stringify(body))
  const ran = gate.seen.length

  const answers = await Promise.all(
    [...bodies, '[{]', '[1,]', `[${'['.repeat(100_000)}`].map(body => send(url, { headers, body })),
  )

  assert.deepEqual(
    answers.map(({ status, json }) => [status, json.error.code]),
    [
      [400, -32600],
      [400, -32600],
      [400, -32600],
      [400, -32600],
      [400, -32700],
      [400, -32700],
      [400, -32700],
    ],
  )
  assert.equal(gate.seen.length, ran)
})
